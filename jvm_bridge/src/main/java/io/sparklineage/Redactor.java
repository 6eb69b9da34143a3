package io.sparklineage;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * Takes secrets out of texts before they enter a record.
 *
 * <p>Keys are judged by Spark's own {@code spark.redaction.regex} and by a list of ours, since
 * Spark's default knows neither {@code pwd} nor {@code credential}. Immutable and thread-safe.
 */
final class Redactor {

  static final String MASK = "*********(redacted)";
  static final String SPARK_DEFAULT = "(?i)secret|password|token|access[.]?key";

  private static final String WORDS =
      "(?:secret|passw(?:or)?d|passphrase|pwd|token|credential|signature"
          + "|(?:access|api|account|private|shared|encryption)[._-]?key)";
  private static final Pattern OUR_KEYS =
      Pattern.compile("(?i)" + WORDS + "|(?:^|[._-])pass$");

  /** user:password@ of a URL; a bucket or container before @ has no colon and stays. */
  private static final Pattern USER_INFO =
      Pattern.compile("://[^/\\s:@?#'\"]{0,256}:[^/\\s?#'\"]{0,1024}@");
  private static final Pattern ORACLE =
      Pattern.compile("(?i)(jdbc:oracle:\\w+:)[^/@\\s'\"]+/[^@\\s]+@");
  /** From its telling word on: to look for a key's beginning costs a long word's square. */
  private static final String KEY = WORDS + "[\\w.\\-]{0,64}";
  private static final String BEFORE_QUOTE =
      "(" + KEY + "['\"`]?(?:\\s{0,9}(?:=>|=|:)\\s{0,9}|\\s{1,9}))";
  private static final Pattern SIGNATURE = Pattern.compile("(?i)([?&]sig=)[^&;,\\s'\")\\\\]+");
  private static final Pattern SINGLE_QUOTED =
      Pattern.compile("(?i)" + BEFORE_QUOTE + "'[^'\\\\]*+(?:(?:\\\\.|'')[^'\\\\]*+)*+(?:'|$)");
  private static final Pattern DOUBLE_QUOTED =
      Pattern.compile("(?i)" + BEFORE_QUOTE + "\"[^\"\\\\]*+(?:\\\\.[^\"\\\\]*+)*+(?:\"|$)");
  private static final Pattern IDENTIFIED =
      Pattern.compile(
          "(?i)(\\bIDENTIFIED\\s+(?:WITH\\s+\\S+\\s+)?(?:BY|AS)\\s+)('[^']*'|\"[^\"]*\"|\\S+)");
  /** Values without quotes: in URLs, and in what people write for people. */
  private static final String UNQUOTED = "\\s{0,9}[=:]\\s{0,9})[^\\s&;,'\")\\\\]+";
  private static final Pattern BARE = Pattern.compile("(?i)(" + KEY + UNQUOTED);
  /** In a statement a value without quotes is a column, unless all stands in a literal. */
  private static final Pattern BARE_IN_LITERAL = Pattern.compile("(?i)('[^']*?" + KEY + UNQUOTED);
  private static final Pattern SET = Pattern.compile("(?is)\\s*SET\\b.*");

  private final Pattern keys;
  private final Pattern options;
  private final Pattern texts;
  private final Pattern sqlTexts;

  /** The regexes are Spark's settings; null or malformed ones are left out. */
  Redactor(String keyRegex, String textRegex) {
    this(keyRegex, textRegex, null, null);
  }

  private Redactor(String keyRegex, String textRegex, String optionRegex, String sqlRegex) {
    this.keys = compile(keyRegex == null ? SPARK_DEFAULT : keyRegex);
    this.texts = compile(textRegex);
    this.options = compile(optionRegex);
    this.sqlTexts = compile(sqlRegex);
  }

  /** As Spark's settings want it: {@code spark.redaction.*} and {@code spark.sql.redaction.*}. */
  static Redactor of(Map<String, String> conf) {
    return new Redactor(
        conf.get("spark.redaction.regex"),
        conf.get("spark.redaction.string.regex"),
        conf.get("spark.sql.redaction.options.regex"),
        conf.get("spark.sql.redaction.string.regex"));
  }

  private static Pattern compile(String regex) {
    try {
      return regex == null || regex.isEmpty() ? null : Pattern.compile(regex);
    } catch (PatternSyntaxException e) {
      return null;
    }
  }

  /**
   * Whether the value under this key is a secret. A data set is named by its url, so that one is
   * shown, without credentials, though Spark's default for options ({@code (?i)url}) names it.
   */
  boolean isSecret(String key) {
    return OUR_KEYS.matcher(key).find()
        || keys != null && keys.matcher(key).find()
        || options != null && !key.equalsIgnoreCase("url") && options.matcher(key).find();
  }

  /** The value as it may be shown under its key. */
  String value(String key, String value) {
    return value == null ? null : isSecret(key) ? MASK : text(value);
  }

  /** A text without the credentials of URLs and without values of secrets' keys. */
  String text(String text) {
    return clean(text, BARE);
  }

  /** A statement: a comparison of columns is left alone; IDENTIFIED BY and SET have no key. */
  String sql(String sql) {
    if (sql == null) {
      return null;
    }
    Pattern bare = SET.matcher(sql).matches() ? BARE : BARE_IN_LITERAL;
    return mask(IDENTIFIED, clean(sql, bare), "'***'");
  }

  /** A message of an error or a log, which may quote a statement. */
  String message(String message) {
    return message == null ? null : mask(IDENTIFIED, text(message), "'***'");
  }

  private String clean(String text, Pattern bare) {
    if (text == null || !suspicious(text)) {
      return text;
    }
    String clean = text;
    if (clean.indexOf('@') >= 0) {
      clean = USER_INFO.matcher(clean).replaceAll("://");
      clean = ORACLE.matcher(clean).replaceAll("$1@");
    }
    clean = mask(SIGNATURE, clean, "***");
    if (OUR_KEYS.matcher(clean).find()) {
      clean = mask(SINGLE_QUOTED, clean, "'***'");
      clean = mask(DOUBLE_QUOTED, clean, "\"***\"");
      clean = mask(bare, clean, "***");
    }
    return whole(sqlTexts, whole(texts, clean));
  }

  private static String whole(Pattern pattern, String text) {
    return pattern == null
        ? text
        : pattern.matcher(text).replaceAll(Matcher.quoteReplacement(MASK));
  }

  private static String mask(Pattern pattern, String text, String mask) {
    Matcher matcher = pattern.matcher(text);
    return matcher.find() ? matcher.replaceAll("$1" + Matcher.quoteReplacement(mask)) : text;
  }

  /** Column names and the like are the most of all texts: leave those at once. */
  private boolean suspicious(String text) {
    if (texts != null || sqlTexts != null) {
      return true;
    }
    for (int i = 0; i < text.length(); i++) {
      switch (text.charAt(i)) {
        case '@':
        case '=':
        case ':':
        case '\'':
        case '"':
          return true;
        default:
      }
    }
    return false;
  }
}
