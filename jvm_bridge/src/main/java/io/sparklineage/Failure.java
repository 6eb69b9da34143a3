package io.sparklineage;

/** A failed execution's or job's error as it stands in a record. */
final class Failure {

  private static final int MESSAGE = 4_096;

  private Failure() {}

  /** Writes the object; {@code text} is the message where there is no {@code failure}. */
  static void write(StringBuilder to, Throwable failure, String text, Redactor redactor) {
    to.append('{');
    Json.field(to, "class", failure == null ? null : failure.getClass().getName());
    String message = failure == null ? text : failure.getMessage();
    String clean = redactor.message(Limits.cut(message, Limits.TEXT));
    Json.field(to, "message", Limits.cut(clean, MESSAGE));
    Json.field(to, "stack", failure == null ? null : redactor.message(stack(failure)));
    to.append('}');
  }

  /** The first frames of the failure and of its causes; a whole trace repeats the plan. */
  private static String stack(Throwable failure) {
    StringBuilder text = new StringBuilder();
    Throwable at = failure;
    for (int depth = 0; at != null && depth < 5 && text.length() < 8_192; depth++) {
      text.append(depth == 0 ? "" : "Caused by: ").append(at.getClass().getName());
      if (depth > 0 && at.getMessage() != null) {
        // What cancelled a query is often told by a cause only.
        text.append(": ").append(Limits.cut(at.getMessage().split("\\R", 2)[0], Limits.LITERAL));
      }
      text.append('\n');
      StackTraceElement[] frames = at.getStackTrace();
      for (int i = 0; i < Math.min(frames.length, 20); i++) {
        text.append("  at ").append(frames[i]).append('\n');
      }
      at = at.getCause() == at ? null : at.getCause();
    }
    return text.toString();
  }
}
