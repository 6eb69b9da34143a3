package io.sparklineage;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.SparkContext;

/** What is true of an application as long as it runs. Thread-safe. */
final class AppFacts {

  /** Hadoop's own settings by which catalogs and paths are named. */
  private static final String[] HADOOP_KEYS = {
    "fs.defaultFS", "hive.metastore.uris", "hive.metastore.warehouse.dir",
    "hive.metastore.client.factory.class", "hive.metastore.glue.catalogid", "aws.region",
    "javax.jdo.option.ConnectionURL"
  };
  private static final String SYSTEM = "fs.defaultFS";
  private static final String REGION = "aws.region";
  /** Where paths without a folder start, on a local file system. */
  private static final String FOLDER = "user.dir";

  final String id;
  final Redactor redactor;
  private final SparkContext context;
  private final String json;
  private volatile Map<String, String> hadoop;

  AppFacts(SparkContext context) {
    this.context = context;
    id = context.applicationId();
    Map<String, String> conf = Settings.map(context.getConf());
    redactor = Redactor.of(conf);
    json = describe(context);
  }

  /** Read once a session is there: Spark reads hive-site.xml for the first of them only. */
  Map<String, String> hadoop() {
    Map<String, String> known = hadoop;
    if (known == null) {
      known = new LinkedHashMap<>();
      Configuration configuration = context.hadoopConfiguration();
      for (String key : HADOOP_KEYS) {
        String value = configuration.get(key);
        if (value != null && !value.isEmpty()) {
          known.put(key, redactor.value(key, value));
        }
      }
      // In the order in which Amazon's client looks for it.
      String[] regions = {
        System.getProperty(REGION), System.getenv("AWS_REGION"), System.getenv("AWS_DEFAULT_REGION")
      };
      for (String region : regions) {
        if (region != null && !region.isEmpty()) {
          known.putIfAbsent(REGION, region);
        }
      }
      known.put(FOLDER, System.getProperty(FOLDER, ""));
      hadoop = known;
    }
    return known;
  }

  /** By what paths are completed; before any session is there, and so none of {@link #hadoop}. */
  Map<String, String> paths() {
    Map<String, String> conf = new LinkedHashMap<>();
    String system = context.hadoopConfiguration().get(SYSTEM);
    if (system != null) {
      conf.put(SYSTEM, redactor.value(SYSTEM, system));
    }
    conf.put(FOLDER, System.getProperty(FOLDER, ""));
    return conf;
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
    Json.field(out, "program", Program.file(System.getProperty("sun.java.command")));
    return out.append('}').toString();
  }

  void write(StringBuilder to) {
    Json.key(to, "app").append(json);
  }
}
