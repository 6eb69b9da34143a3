package io.sparklineage;

import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

final class SettingsTest {

  private static Settings settings(String... pairs) {
    Map<String, String> conf = new HashMap<>();
    for (int i = 0; i < pairs.length; i += 2) {
      conf.put(pairs[i], pairs[i + 1]);
    }
    return new Settings(conf, Collections.singletonMap("SPARK_LINEAGE_QUEUE_RECORDS", "7"));
  }

  static void testWhereASettingComesFrom() {
    Check.equal(7, settings().queueRecords);
    Check.equal(8, settings("spark.lineage.queue.records", "8").queueRecords);
    Check.equal(true, settings().enabled);
    Check.equal(false, settings("spark.openlineage.disabled", "true").enabled);
    Check.equal(
        true,
        settings("spark.openlineage.disabled", "true", "spark.lineage.enabled", "on").enabled);
  }

  static void testUnits() {
    Check.equal(3L << 20, settings("spark.lineage.queue.bytes", "3m").queueBytes);
    Check.equal(512L, settings("spark.lineage.queue.bytes", "512").queueBytes);
    Check.equal(2L << 10, settings("spark.lineage.queue.bytes", "2 KiB").queueBytes);
    Check.equal(1500L, settings("spark.lineage.shutdown.timeout", "1.5s").shutdownTimeoutMs);
    Check.equal(250L, settings("spark.lineage.shutdown.timeout", "250ms").shutdownTimeoutMs);
    Check.equal(120_000L, settings("spark.lineage.shutdown.timeout", "2m").shutdownTimeoutMs);
    Check.equal(5_000L, settings().shutdownTimeoutMs);
  }

  static void testKeysBelowAFamilyAreTheUsers() {
    Check.equal(true, settings("spark.lineage.namespace.alias.nn1", "cluster").enabled);
    Check.equal(true, settings("spark.lineage.namespace.pattern.a", "x => y").enabled);
  }

  static void testWhatIsWrongIsNamed() {
    invalid("spark.lineage.enabled", "maybe", "true or false");
    invalid("spark.lineage.queue.bytes", "lots", "a positive size");
    invalid("spark.lineage.queue.bytes", "0", "a positive size");
    invalid("spark.lineage.plan.nodes", "-1", "a whole number above 0");
    invalid("spark.lineage.shutdown.timeout", "soon", "a time such as");
    invalid("spark.lineage.no.such", "1", "spark.lineage.transport.url");
    invalid("spark.lineage.namespace.alias.", "x", "spark.lineage.namespace.alias");
    invalid("spark.lineage.namespace.aliases.a", "x", "spark.lineage.namespace.alias");
    invalid("spark.openlineage.disabled", "x", "true or false");
  }

  private static void invalid(String key, String value, String allowed) {
    try {
      settings(key, value);
    } catch (Settings.Invalid e) {
      String message = e.getMessage();
      Check.that(
          message.contains(key) && message.contains("'" + value + "'") && message.contains(allowed),
          message);
      return;
    }
    throw new AssertionError(key + "=" + value + " was taken");
  }
}
