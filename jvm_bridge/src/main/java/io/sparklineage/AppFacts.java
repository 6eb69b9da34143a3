package io.sparklineage;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;

/** What is true of an application as long as it runs. Immutable and thread-safe. */
final class AppFacts {

  /** Hadoop's own settings by which catalogs and paths are named. */
  private static final String[] HADOOP_KEYS = {
    "fs.defaultFS", "hive.metastore.uris", "hive.metastore.warehouse.dir",
    "hive.metastore.client.factory.class", "hive.metastore.glue.catalogid", "aws.region",
    "javax.jdo.option.ConnectionURL"
  };

  final String id;
  final Redactor redactor;
  final Map<String, String> hadoop;
  private final String json;

  AppFacts(SparkContext context) {
    id = context.applicationId();
    Map<String, String> conf = Settings.map(context.getConf());
    redactor =
        new Redactor(conf.get("spark.redaction.regex"), conf.get("spark.redaction.string.regex"));
    hadoop = new LinkedHashMap<>();
    Configuration configuration = context.hadoopConfiguration();
    for (String key : HADOOP_KEYS) {
      String value = configuration.get(key);
      if (value != null && !value.isEmpty()) {
        hadoop.put(key, redactor.value(key, value));
      }
    }
    json = describe(context);
  }

  private String describe(SparkContext context) {
    StringBuilder out = new StringBuilder("{");
    Json.field(out, "id", id);
    Json.field(out, "name", redactor.text(context.appName()));
    Json.field(out, "user", context.sparkUser());
    Json.field(out, "startTime", context.startTime());
    Json.field(out, "sparkVersion", context.version());
    Json.field(out, "scalaVersion", scala.util.Properties.versionNumberString());
    Json.field(out, "master", context.master());
    Json.field(out, "deployMode", context.deployMode());
    Json.field(out, "attemptId", (String) SparkCompat.unwrap(context.applicationAttemptId()));
    return out.append('}').toString();
  }

  void write(StringBuilder to) {
    Json.key(to, "app").append(json);
  }
}
