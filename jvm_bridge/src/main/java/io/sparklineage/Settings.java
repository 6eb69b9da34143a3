package io.sparklineage;

import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The settings that concern the JVM, read and checked as {@code spark_lineage/config} does:
 * Spark's configuration first, then the environment, then OpenLineage's key, then the default.
 *
 * <p>Immutable and thread-safe.
 */
final class Settings {

  static final String PREFIX = "spark.lineage.";
  static final String OPENLINEAGE = "spark.openlineage.";

  /** All keys there are, those of the agent too: any other is a mistake worth a word. */
  static final Set<String> KEYS =
      Collections.unmodifiableSet(
          new LinkedHashSet<>(
              Arrays.asList(
                  "enabled", "python", "transport.type", "transport.url", "transport.endpoint",
                  "transport.path", "transport.apiKey", "transport.config", "transport.timeout",
                  "namespace", "namespace.alias", "namespace.pattern",
                  "job.name", "parentRunId", "parentJobName", "parentJobNamespace",
                  "rootParentRunId", "rootParentJobName", "rootParentJobNamespace",
                  "job.tags", "run.tags", "job.owners", "applicationRunId",
                  "nominalStartTime", "nominalEndTime", "lineageFacet",
                  "filter.datasets.allow", "filter.datasets.deny",
                  "filter.jobs.allow", "filter.jobs.deny",
                  "filter.statements.allow", "filter.statements.deny",
                  "dataset.identity", "masking.functions", "readOnlyActions",
                  "readOnlyActions.sample", "sql", "views",
                  "facets.disabled", "agent.memory", "queue.records",
                  "queue.bytes", "record.bytes", "plan.nodes", "shutdown.timeout", "spool.dir",
                  "spool.bytes", "spool.age", "spool.archive", "log.level")));

  private static final Pattern SIZE = Pattern.compile("(\\d+)\\s*([kmgb]?)(?:i?b)?");
  private static final Pattern TIME = Pattern.compile("(\\d+(?:\\.\\d+)?)\\s*(ms|s|m|min|h|d|)");
  /** Keys below which users give names of their own. */
  private static final String[] FAMILIES = {"namespace.alias.", "namespace.pattern."};

  private static final String A_BOOLEAN = "true or false";
  private static final String A_SIZE = "a positive size such as 1048576, 512k, 32m or 1g";
  private static final String A_TIME = "a time such as 500ms, 5s, 2m or 1h";
  private static final String A_COUNT = "a whole number above 0";

  final boolean enabled;
  final String python;
  final int queueRecords;
  final long queueBytes;
  final Limits limits;
  final long shutdownTimeoutMs;
  final String spoolDir;
  final long spoolBytes;

  private final Map<String, String> conf;
  private final Map<String, String> environment;

  /** Throws {@link Invalid} that names the key, its value and what is allowed. */
  Settings(Map<String, String> conf, Map<String, String> environment) {
    this.conf = conf;
    this.environment = environment;
    refuseUnknown();
    enabled = bool("enabled", true) && !openLineageDisabled();
    python = lookup("python");
    queueRecords = (int) Math.min(Integer.MAX_VALUE, count("queue.records", 10_000));
    queueBytes = size("queue.bytes", 32L << 20);
    limits =
        new Limits(
            // One record is one Java array and one text of the gateway.
            (int) Math.min(Integer.MAX_VALUE / 4, size("record.bytes", 16L << 20)),
            (int) Math.min(Integer.MAX_VALUE, count("plan.nodes", 2_000_000)));
    shutdownTimeoutMs = time("shutdown.timeout", 5_000);
    spoolDir = lookup("spool.dir");
    spoolBytes = size("spool.bytes", 256L << 20);
  }

  static Settings of(org.apache.spark.SparkConf conf, Map<String, String> options) {
    Map<String, String> all = map(conf);
    all.putAll(options);
    return new Settings(all, System.getenv());
  }

  static Map<String, String> map(org.apache.spark.SparkConf conf) {
    Map<String, String> all = new HashMap<>();
    for (scala.Tuple2<String, String> pair : conf.getAll()) {
      all.put(pair._1(), pair._2());
    }
    return all;
  }

  private void refuseUnknown() {
    for (Map.Entry<String, String> entry : conf.entrySet()) {
      String key = entry.getKey();
      if (key.startsWith(PREFIX) && !isKnown(key.substring(PREFIX.length()))) {
        StringBuilder allowed = new StringBuilder("one of");
        for (String known : new TreeSet<>(KEYS)) {
          allowed.append(allowed.length() == 6 ? " " : ", ").append(PREFIX).append(known);
        }
        throw new Invalid(key, entry.getValue(), allowed.toString());
      }
    }
  }

  private static boolean isKnown(String key) {
    for (String family : FAMILIES) {
      if (key.startsWith(family) && key.length() > family.length()) {
        return true;
      }
    }
    return KEYS.contains(key);
  }

  private boolean openLineageDisabled() {
    String key = OPENLINEAGE + "disabled";
    return given("enabled") == null
        && conf.containsKey(key) && parseBoolean(key, conf.get(key));
  }

  private static String variable(String key) {
    String snake = key.replaceAll("([a-z])([A-Z])", "$1_$2").replace('.', '_');
    return "SPARK_LINEAGE_" + snake.toUpperCase(java.util.Locale.ROOT);
  }

  /** The key under which the setting is given, or null. */
  private String given(String key) {
    return conf.containsKey(PREFIX + key)
        ? PREFIX + key
        : environment.containsKey(variable(key)) ? variable(key) : null;
  }

  private String lookup(String key) {
    String given = given(key);
    if (given == null) {
      return null;
    }
    String value = given.startsWith(PREFIX) ? conf.get(given) : environment.get(given);
    return value.trim();
  }

  private boolean bool(String key, boolean otherwise) {
    String value = lookup(key);
    return value == null ? otherwise : parseBoolean(given(key), value);
  }

  private static boolean parseBoolean(String key, String value) {
    switch (value.trim().toLowerCase(java.util.Locale.ROOT)) {
      case "true":
      case "on":
      case "1":
      case "yes":
        return true;
      case "false":
      case "off":
      case "0":
      case "no":
        return false;
      default:
        throw new Invalid(key, value, A_BOOLEAN);
    }
  }

  private long count(String key, long otherwise) {
    String value = lookup(key);
    if (value == null) {
      return otherwise;
    }
    try {
      long count = Long.parseLong(value);
      if (count > 0) {
        return count;
      }
    } catch (NumberFormatException e) {
      // Said below, as for zero.
    }
    throw new Invalid(given(key), value, A_COUNT);
  }

  private long size(String key, long otherwise) {
    String value = lookup(key);
    if (value == null) {
      return otherwise;
    }
    Matcher matcher = SIZE.matcher(value.toLowerCase(java.util.Locale.ROOT));
    if (matcher.matches() && matcher.group(1).length() < 16) {
      int shift = Math.max(0, " kmg".indexOf(matcher.group(2))) * 10;
      long number = Long.parseLong(matcher.group(1)) << (matcher.group(2).isEmpty() ? 0 : shift);
      if (number > 0) {
        return number;
      }
    }
    throw new Invalid(given(key), value, A_SIZE);
  }

  private long time(String key, long otherwise) {
    String value = lookup(key);
    if (value == null) {
      return otherwise;
    }
    Matcher matcher = TIME.matcher(value.toLowerCase(java.util.Locale.ROOT));
    if (!matcher.matches()) {
      throw new Invalid(given(key), value, A_TIME);
    }
    return (long) (Double.parseDouble(matcher.group(1)) * milliseconds(matcher.group(2)));
  }

  private static long milliseconds(String unit) {
    switch (unit) {
      case "ms":
        return 1;
      case "m":
      case "min":
        return 60_000;
      case "h":
        return 3_600_000;
      case "d":
        return 86_400_000;
      default:
        return 1_000;
    }
  }

  /** A setting is wrong. */
  static final class Invalid extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    Invalid(String key, String value, String allowed) {
      super(key + " is '" + shown(key, value) + "'; allowed: " + allowed);
    }

    private static String shown(String key, String value) {
      return new Redactor(null, null).value(key, value);
    }
  }
}
