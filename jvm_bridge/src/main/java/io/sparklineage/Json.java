package io.sparklineage;

import java.util.Map;

/** Writes JSON into a builder: the record is written once and read by another process. */
final class Json {

  private static final char[] HEX = "0123456789abcdef".toCharArray();

  private Json() {}

  /** The text as a JSON string, or {@code null}. */
  static void quote(StringBuilder out, String text) {
    if (text == null) {
      out.append("null");
      return;
    }
    out.append('"');
    int from = 0;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c >= ' ' && c != '"' && c != '\\' && !Character.isSurrogate(c)) {
        continue;
      }
      boolean pair = i + 1 < text.length() && Character.isSurrogatePair(c, text.charAt(i + 1));
      if (pair) {
        i++;
        continue;
      }
      out.append(text, from, i);
      from = i + 1;
      // Half a pair cannot be written as UTF-8 by whoever reads it.
      escape(out, Character.isSurrogate(c) ? '\ufffd' : c);
    }
    out.append(text, from, text.length()).append('"');
  }

  private static void escape(StringBuilder out, char c) {
    if (c == '"' || c == '\\') {
      out.append('\\').append(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else {
      out.append("\\u")
          .append(HEX[c >> 12])
          .append(HEX[c >> 8 & 15])
          .append(HEX[c >> 4 & 15])
          .append(HEX[c & 15]);
    }
  }

  /** {@code "key":} with a comma before it unless it is the first of its object. */
  static StringBuilder key(StringBuilder out, String key) {
    char last = out.length() == 0 ? '{' : out.charAt(out.length() - 1);
    if (last != '{') {
      out.append(',');
    }
    quote(out, key);
    return out.append(':');
  }

  /** {@code "key":"text"}. */
  static void field(StringBuilder out, String key, String text) {
    quote(key(out, key), text);
  }

  /** {@code "key":number}. */
  static void field(StringBuilder out, String key, long number) {
    key(out, key).append(number);
  }

  /** {@code "key":true}. */
  static void field(StringBuilder out, String key, boolean value) {
    key(out, key).append(value);
  }

  /** {@code "key":{...}} of texts. */
  static void field(StringBuilder out, String key, Map<String, String> texts) {
    key(out, key).append('{');
    for (Map.Entry<String, String> entry : texts.entrySet()) {
      field(out, entry.getKey(), entry.getValue());
    }
    out.append('}');
  }

  /** {@code "key":{...}} of numbers. */
  static void numbers(StringBuilder out, String key, Map<String, ? extends Number> numbers) {
    key(out, key).append('{');
    for (Map.Entry<String, ? extends Number> entry : numbers.entrySet()) {
      field(out, entry.getKey(), entry.getValue().longValue());
    }
    out.append('}');
  }
}
