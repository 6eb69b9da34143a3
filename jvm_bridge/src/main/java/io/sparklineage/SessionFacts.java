package io.sparklineage;

import java.util.Map;
import java.util.TreeMap;

/**
 * What is true of a session now: current catalog and database, and the settings that lineage
 * needs. Reads fields only, so that no catalog is loaded and no lock of the job's is waited for.
 * Stateless.
 */
final class SessionFacts {

  private static final String SESSION_CATALOG = "spark_catalog";

  private static final String[] KEYS = {
    "spark.sql.warehouse.dir", "spark.sql.catalogImplementation", "spark.sql.defaultCatalog",
    "spark.sql.caseSensitive", "spark.sql.extensions", "spark.sql.sources.default",
    "spark.sql.session.timeZone", "spark.app.id", "hive.metastore.uris"
  };

  private static final String[] PREFIXES = {
    "spark.sql.catalog.", "spark.lineage.", "spark.hadoop.hive.metastore.",
    "spark.hive.metastore.", "hive.metastore.", "spark.hadoop.fs.defaultFS",
    "spark.hadoop.javax.jdo.option.ConnectionURL", "spark.hadoop.aws.region",
    "spark.glue.accountId", "spark.cassandra.connection.", "spark.mongodb.", "spark.es.",
    "spark.cosmos.accountEndpoint", "spark.sql.sources.partitionOverwriteMode"
  };

  private SessionFacts() {}

  static String id(Object session) {
    return SparkCompat.text(session, "sessionUUID");
  }

  /** The {@code session} member, but for its client ({@link #withClient}). */
  static String json(Object session, AppFacts app) {
    Object state = SparkCompat.call(session, "sessionState");
    Map<String, String> conf = conf(state, app);
    Object manager = SparkCompat.call(state, "catalogManager");
    Object named = SparkCompat.unwrap(SparkCompat.field(manager, "_currentCatalogName"));
    String catalog =
        named == null
            ? conf.getOrDefault("spark.sql.defaultCatalog", SESSION_CATALOG)
            : named.toString();
    StringBuilder out = new StringBuilder("{");
    Json.field(out, "id", id(session));
    Json.field(out, "catalog", catalog);
    Json.field(out, "database", database(manager, catalog));
    Json.field(out, "conf", conf);
    return out.append('}').toString();
  }

  /**
   * The same with its client, which only servers' sessions have and which may be known later than
   * the session is.
   */
  static String withClient(String json, Clients.Client client) {
    if (json == null) {
      return null;
    }
    StringBuilder out = new StringBuilder("{");
    Json.field(out, "clientAddress", client == null ? null : client.address);
    Json.field(out, "user", client == null ? null : client.user);
    return out.append(',').append(json, 1, json.length()).toString();
  }

  private static String database(Object manager, String catalog) {
    if (SESSION_CATALOG.equals(catalog)) {
      Object sessionCatalog = SparkCompat.field(manager, "v1SessionCatalog");
      Object current = SparkCompat.field(sessionCatalog, "currentDb");
      return current == null ? null : current.toString();
    }
    Object namespace = SparkCompat.unwrap(SparkCompat.field(manager, "_currentNamespace"));
    return namespace instanceof String[] ? String.join(".", (String[]) namespace) : null;
  }

  private static Map<String, String> conf(Object state, AppFacts app) {
    Map<String, String> conf = new TreeMap<>(app.hadoop());
    Object settings = SparkCompat.call(SparkCompat.call(state, "conf"), "settings");
    if (settings instanceof Map) {
      synchronized (settings) {
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) settings).entrySet()) {
          String key = String.valueOf(entry.getKey());
          if (wanted(key)) {
            conf.put(key, app.redactor.value(key, String.valueOf(entry.getValue())));
          }
        }
      }
    }
    return conf;
  }

  private static boolean wanted(String key) {
    for (String wanted : KEYS) {
      if (key.equals(wanted)) {
        return true;
      }
    }
    for (String prefix : PREFIXES) {
      if (key.startsWith(prefix)) {
        return true;
      }
    }
    return false;
  }
}
