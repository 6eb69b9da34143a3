package io.sparklineage;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What Delta's, Iceberg's, Hudi's and Paimon's own objects hold in memory: paths, versions,
 * branches, procedures' arguments.
 *
 * <p>None of the libraries is on the bridge's class path, so all goes by name. Only values and fields
 * that are set already are read: no snapshot is computed and no file is opened. Stateless.
 */
final class LakehouseFacts {

  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String PINNED_INDEX = DELTA + "files.TahoeFileIndexWithSnapshotDescriptor";
  private static final String ICEBERG = "org.apache.iceberg.";
  private static final String PAIMON = "org.apache.paimon.";
  static final String HUDI_PROCEDURES = "org.apache.spark.sql.hudi.command.procedures.";

  /** The arguments that name a table stand among the first of a procedure of Hudi's. */
  private static final int FIRST_ARGUMENTS = 3;

  private static final List<String> NAMING_ARGUMENTS = Arrays.asList("table", "path");

  private LakehouseFacts() {}

  /** The further keys of a described V2 table. */
  static void table(Object table, Shape shape, ValueWriter to) {
    if (shape.is(DELTA + "catalog.DeltaTableV2")) {
      to.field("path", SparkCompat.call(table, "path"));
      to.field("v1", SparkCompat.callOption(table, "catalogTable"));
      // Lazy: null until somebody needed it.
      to.text("version", SparkCompat.text(SparkCompat.field(table, "initialSnapshot"), "version"));
    } else if (shape.is("org.apache.spark.sql.connector.write.RowLevelOperationTable")) {
      to.field("table", SparkCompat.call(table, "table"));
    } else if (shape.fullName.startsWith(ICEBERG)) {
      Object inner = SparkCompat.call(table, "table");
      to.text("tableName", SparkCompat.text(inner, "name"));
      to.field("metadata", inner != null && Shape.of(inner).is(ICEBERG + "BaseMetadataTable"));
      to.text("version", SparkCompat.text(table, "snapshotId"));
      to.text("branch", SparkCompat.text(table, "branch"));
    }
  }

  /** What Delta's CLONE copies: a Delta table, or what its name names. */
  static void cloneSource(Object source, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName)
        .field("table", SparkCompat.field(source, "sourceTable"))
        .field("identifier", SparkCompat.field(source, "tableIdentifier"))
        .end();
  }

  /** A procedure of Paimon's, and of Iceberg's on Spark 3; later ones of Iceberg's are Spark's. */
  static void procedure(Object procedure, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName)
        .text("class", shape.fullName)
        .text("catalog", SparkCompat.text(SparkCompat.field(procedure, "tableCatalog"), "name"))
        .end();
  }

  /** A procedure of Hudi's: what its first parameters are called. */
  static void hudiProcedure(Object procedure, Shape shape, ValueWriter to) {
    List<String> names = new ArrayList<>();
    Object parameters = SparkCompat.call(procedure, "parameters");
    int length = parameters == null ? 0 : Array.getLength(parameters);
    for (int i = 0; i < length && i < FIRST_ARGUMENTS; i++) {
      names.add(SparkCompat.text(Array.get(parameters, i), "name"));
    }
    to.begin(shape.simpleName)
        .text("class", shape.fullName)
        .field("parameters", names)
        .end();
  }

  /**
   * The arguments of a procedure of Hudi's that may name a table, by name or by number: no other,
   * since there are passwords among them.
   */
  static void hudiArguments(Object arguments, Shape shape, ValueWriter to) {
    Map<String, Object> told = new LinkedHashMap<>();
    Object places = SparkCompat.call(arguments, "map");
    Object row = SparkCompat.call(arguments, "internalRow");
    Object values = SparkCompat.field(row, "values");
    if (places instanceof Map && values instanceof Object[]) {
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) places).entrySet()) {
        String key = String.valueOf(entry.getKey());
        int at = entry.getValue() instanceof Integer ? (Integer) entry.getValue() : -1;
        boolean named = NAMING_ARGUMENTS.contains(key);
        boolean early = key.matches("\\d") && Integer.parseInt(key) < FIRST_ARGUMENTS;
        if ((named || early) && at >= 0 && at < ((Object[]) values).length) {
          Object value = ((Object[]) values)[at];
          told.put(key, value == null ? null : value.toString());
        }
      }
    }
    to.begin(shape.simpleName).field("arguments", told).end();
  }

  /** The further keys of a described scan: Paimon's own table, which a stream names nowhere else. */
  static void scan(Object scan, Shape shape, ValueWriter to) {
    if (!shape.fullName.startsWith(PAIMON)) {
      return;
    }
    Object table = SparkCompat.call(scan, "table");
    Object options = SparkCompat.call(table, "options");
    Object path = options instanceof Map ? ((Map<?, ?>) options).get("path") : null;
    to.text("table", SparkCompat.text(table, "name"))
        .text("path", path == null ? null : path.toString());
  }

  /** The further keys of a described sink: Delta's writes to a path, which no catalog may know. */
  static void sink(Object sink, Shape shape, ValueWriter to) {
    if (shape.fullName.startsWith(DELTA)) {
      to.field("path", SparkCompat.field(sink, "path")).text("format", "delta");
    }
  }

  /** The further keys of a described relation of Delta's own: its change data feed. */
  static void relation(Object relation, Shape shape, ValueWriter to) {
    if (!shape.fullName.startsWith(DELTA)) {
      return;
    }
    Object snapshot =
        SparkCompat.call(SparkCompat.call(relation, "snapshotWithSchemaMode"), "snapshot");
    to.field("path", SparkCompat.call(SparkCompat.call(snapshot, "deltaLog"), "dataPath"))
        .field("v1", SparkCompat.callOption(relation, "catalogTableOpt"))
        .text("startingVersion", SparkCompat.text(relation, "startingVersion"))
        .text("endingVersion", SparkCompat.text(relation, "endingVersion"));
  }

  /** The version that a file index of Delta's lists, or null. */
  static String indexVersion(Object index) {
    if (index == null || !Shape.of(index).fullName.startsWith(DELTA)) {
      return null;
    }
    String version = SparkCompat.text(SparkCompat.call(index, "preparedScan"), "version");
    if (version == null) {
      version = SparkCompat.text(index, "versionScanned");
    }
    if (version == null) {
      version = SparkCompat.text(SparkCompat.call(index, "snapshotAtAnalysis"), "version");
    }
    return version == null && Shape.of(index).is(PINNED_INDEX)
        ? SparkCompat.text(index, "version")
        : version;
  }

  /**
   * The snapshot that a scan of Iceberg's has planned, or null: what its planning reported, which
   * stays true when the table goes on; else the one that it was pinned to.
   */
  static String scanVersion(Object scan) {
    if (scan == null || !Shape.of(scan).fullName.startsWith(ICEBERG)) {
      return null;
    }
    Object reporter = SparkCompat.field(scan, "scanReportSupplier");
    if (reporter instanceof java.util.function.Supplier) {
      Object report = ((java.util.function.Supplier<?>) reporter).get();
      String reported = SparkCompat.text(report, "snapshotId");
      if (reported != null) {
        return reported;
      }
    }
    Object pinned = SparkCompat.field(scan, "snapshotId");
    return pinned != null
        ? pinned.toString()
        : SparkCompat.text(SparkCompat.field(scan, "snapshot"), "snapshotId");
  }
}
