package io.sparklineage;

/** How large one record may become; what is over is left out and named. Immutable. */
final class Limits {

  /** Elements of a list that are no trees (rows of data, files, partitions). */
  static final int LIST = 256;
  /** Characters of one text, if nothing smaller is said. */
  static final int TEXT = 16_384;
  /** Characters of a statement. */
  static final int STATEMENT = 65_536;
  /** Characters of a literal's value, and of a description of an unknown thing. */
  static final int LITERAL = 256;
  /** Products inside products, and lists inside lists. */
  static final int DEPTH = 8;
  /** Scans of one executed plan. */
  static final int SCANS = 2_000;

  final int recordBytes;
  final int planNodes;

  Limits(int recordBytes, int planNodes) {
    this.recordBytes = recordBytes;
    this.planNodes = planNodes;
  }

  /** What is added before a text is looked through for secrets, so that none is cut in two. */
  static final int MARGIN = 1_024;

  static String cut(String text, int length) {
    return text == null || text.length() <= length ? text : text.substring(0, length) + "…";
  }

  /** Thrown when a plan is over a limit: the encoder takes back what it wrote of it. */
  static final class Exceeded extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Exceeded(String message) {
      // Without a stack trace: it is an answer, not a fault.
      super(message, null, false, false);
    }
  }
}
