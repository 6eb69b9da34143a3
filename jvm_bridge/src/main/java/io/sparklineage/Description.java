package io.sparklineage;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.LinkedHashMap;
import java.util.Set;

/**
 * How an object that is no tree is described: what names a data set, and no more.
 *
 * <p>Accessors are called by name; those called here read what is in memory already. Stateless.
 */
abstract class Description {

  private static final Map<String, Description> BY_TYPE = new LinkedHashMap<>();

  private static final String CATALOG = "org.apache.spark.sql.connector.catalog.";
  private static final String SOURCES = "org.apache.spark.sql.execution.datasources.";
  private static final String KAFKA = "org.apache.spark.sql.kafka010.";

  static {
    // In order: the first that a class has above it is taken.
    add("org.apache.spark.sql.catalyst.catalog.CatalogTable", Description::catalogTable);
    add("org.apache.spark.sql.catalyst.TableIdentifier", Description::identifier);
    add("org.apache.spark.sql.catalyst.FunctionIdentifier", Description::identifier);
    add(CATALOG + "Identifier", Description::v2Identifier);
    add(SOURCES + "HadoopFsRelation", Description::hadoopFsRelation);
    add(SOURCES + "jdbc.JDBCRelation", Description::jdbcRelation);
    add("org.apache.spark.sql.sources.BaseRelation", Description::baseRelation);
    add("org.apache.spark.sql.sources.CreatableRelationProvider", Description::provider);
    add("org.apache.hadoop.fs.Path", Description::path);
    add("java.net.URI", Description::path);
    // A sink of the first streaming API calls itself a table, and throws for its name.
    add("org.apache.spark.sql.execution.streaming.Sink", Description::sink);
    add(CATALOG + "Table", Description::v2Table);
    add(CATALOG + "CatalogPlugin", Description::named);
    add(CATALOG + "functions.Function", Description::named);
    add(CATALOG + "functions.UnboundFunction", Description::named);
    add(SOURCES + "FileFormat", Description::fileFormat);
    add(SOURCES + "FileIndex", Description::fileIndex);
    add("org.apache.spark.rdd.RDD", Description::rdd);
    add("org.apache.spark.sql.connector.read.Scan", Description::scan);
    add("org.apache.spark.sql.connector.expressions.Expression", Description::expression);
    add("org.apache.spark.sql.delta.commands.CloneSource", LakehouseFacts::cloneSource);
    add("org.apache.spark.sql.connector.iceberg.catalog.Procedure", LakehouseFacts::procedure);
    add("org.apache.paimon.spark.procedure.Procedure", LakehouseFacts::procedure);
    add(LakehouseFacts.HUDI_PROCEDURES + "Procedure", LakehouseFacts::hudiProcedure);
    add(LakehouseFacts.HUDI_PROCEDURES + "ProcedureArgs", LakehouseFacts::hudiArguments);
    add("org.apache.spark.sql.sources.Filter", Description::plainText);
  }

  private interface Writer {
    void write(Object value, Shape shape, ValueWriter to);
  }

  private static void add(String type, Writer writer) {
    BY_TYPE.put(
        type,
        new Description() {
          @Override
          void write(Object value, Shape shape, ValueWriter to) {
            int start = to.out.length();
            try {
              writer.write(value, shape, to);
            } catch (Limits.Exceeded e) {
              throw e;
            } catch (Exception | LinkageError e) {
              // A connector's object that does not answer: the plan around it stands.
              to.out.setLength(start);
              to.opaque(shape);
              to.undescribed(shape, e);
            }
          }
        });
  }

  /** The description for a class with these names above it, or null. */
  static Description of(Set<String> supertypes) {
    for (Map.Entry<String, Description> entry : BY_TYPE.entrySet()) {
      if (supertypes.contains(entry.getKey())) {
        return entry.getValue();
      }
    }
    return null;
  }

  abstract void write(Object value, Shape shape, ValueWriter to);

  private static void catalogTable(Object table, Shape shape, ValueWriter to) {
    Object identifier = SparkCompat.call(table, "identifier");
    Object storage = SparkCompat.call(table, "storage");
    to.begin("CatalogTable")
        .text("catalog", SparkCompat.text(identifier, "catalog"))
        .text("database", SparkCompat.text(identifier, "database"))
        .text("table", SparkCompat.text(identifier, "table"))
        .text("tableType", SparkCompat.text(SparkCompat.call(table, "tableType"), "name"))
        .text("provider", SparkCompat.text(table, "provider"))
        .text("inputFormat", SparkCompat.text(storage, "inputFormat"))
        .text("location", SparkCompat.text(storage, "locationUri"))
        .field("partitionColumns", SparkCompat.call(table, "partitionColumnNames"))
        .field("properties", SparkCompat.call(table, "properties"))
        .field("options", SparkCompat.call(storage, "properties"))
        .schema("schema", SparkCompat.call(table, "schema"))
        .text("viewText", SparkCompat.text(table, "viewText"))
        .text("createVersion", SparkCompat.text(table, "createVersion"))
        .end();
  }

  private static void identifier(Object identifier, Shape shape, ValueWriter to) {
    boolean table = shape.simpleName.equals("TableIdentifier");
    to.begin(shape.simpleName)
        .text("catalog", SparkCompat.text(identifier, "catalog"))
        .text("database", SparkCompat.text(identifier, "database"))
        .text(table ? "table" : "name", SparkCompat.text(identifier, table ? "table" : "funcName"))
        .end();
  }

  private static void v2Identifier(Object identifier, Shape shape, ValueWriter to) {
    to.begin("Identifier")
        .field("namespace", SparkCompat.call(identifier, "namespace"))
        .text("name", SparkCompat.text(identifier, "name"))
        .end();
  }

  private static void hadoopFsRelation(Object relation, Shape shape, ValueWriter to) {
    Object index = SparkCompat.call(relation, "location");
    to.begin("HadoopFsRelation")
        .field("rootPaths", rootPaths(index))
        .text("index", index == null ? null : Shape.of(index).simpleName)
        .text("version", LakehouseFacts.indexVersion(index))
        .text("format", formatOf(SparkCompat.call(relation, "fileFormat")))
        .field("partitionColumns", names(SparkCompat.call(relation, "partitionSchema")))
        .schema("schema", SparkCompat.call(relation, "schema"))
        .field("options", SparkCompat.call(relation, "options"))
        .end();
  }

  private static void jdbcRelation(Object relation, Shape shape, ValueWriter to) {
    to.begin("JDBCRelation")
        .field("options", jdbcOptions(relation))
        .schema("schema", SparkCompat.call(relation, "schema"));
    JdbcFacts.statements(relation, to);
    to.end();
  }

  private static Object jdbcOptions(Object holder) {
    return SparkCompat.call(SparkCompat.call(holder, "jdbcOptions"), "parameters");
  }

  private static void baseRelation(Object relation, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName)
        .text("class", shape.fullName)
        .text("text", to.redactor.message(String.valueOf(relation)), Limits.LITERAL)
        .field("options", SourceFacts.options(relation))
        .schema("schema", SparkCompat.call(relation, "schema"));
    LakehouseFacts.relation(relation, shape, to);
    to.end();
  }

  private static void provider(Object provider, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName).text("class", shape.fullName).end();
  }

  private static void path(Object path, Shape shape, ValueWriter to) {
    to.begin("Path").text("uri", uri(path)).end();
  }

  private static void sink(Object sink, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName).text("class", shape.fullName);
    if (shape.simpleName.equals("FileStreamSink")) {
      to.field("path", SparkCompat.field(sink, "path"))
          .text("format", formatOf(SparkCompat.field(sink, "fileFormat")));
    }
    LakehouseFacts.sink(sink, shape, to);
    to.end();
  }

  private static void v2Table(Object table, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName)
        .text("class", shape.fullName)
        .text("name", SparkCompat.text(table, "name"))
        .field("properties", SparkCompat.call(table, "properties"))
        .schema("schema", SparkCompat.tableSchema(table))
        .field("partitioning", texts(SparkCompat.call(table, "partitioning")));
    if (shape.is(CATALOG + "V1Table")) {
      to.field("v1", SparkCompat.call(table, "v1Table"));
    }
    if (shape.is("org.apache.spark.sql.execution.datasources.v2.FileTable")) {
      to.field("paths", SparkCompat.call(table, "paths"));
      to.text("format", SparkCompat.text(table, "formatName"));
      // A lazy value: null as long as Spark itself has not listed the files.
      to.field("rootPaths", rootPaths(SparkCompat.field(table, "fileIndex")));
    }
    Object options = jdbcOptions(table);
    if (options != null) {
      to.field("options", options);
    }
    LakehouseFacts.table(table, shape, to);
    to.end();
  }

  private static void named(Object value, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName)
        .text("class", shape.fullName)
        .text("name", SparkCompat.text(value, "name"))
        .end();
  }

  private static void fileFormat(Object format, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName).text("format", formatOf(format)).end();
  }

  private static void fileIndex(Object index, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName)
        .field("rootPaths", rootPaths(index))
        .text("version", LakehouseFacts.indexVersion(index))
        .end();
  }

  private static void scan(Object scan, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName)
        .text("class", shape.fullName)
        .text("version", LakehouseFacts.scanVersion(scan));
    if (shape.fullName.startsWith(KAFKA)) {
      to.field("options", SourceFacts.options(scan));
    }
    LakehouseFacts.scan(scan, shape, to);
    to.end();
  }

  /** A transform or reference of the V2 API is its text: {@code bucket(4, id)}. */
  private static void expression(Object expression, Shape shape, ValueWriter to) {
    String text = SparkCompat.text(expression, "describe");
    to.string(text == null ? String.valueOf(expression) : text, Limits.LITERAL);
  }

  private static void plainText(Object value, Shape shape, ValueWriter to) {
    to.string(String.valueOf(value), Limits.LITERAL);
  }

  private static void rdd(Object rdd, Shape shape, ValueWriter to) {
    to.begin(shape.simpleName)
        .field("id", SparkCompat.call(rdd, "id"))
        .text("name", (String) SparkCompat.call(rdd, "name"));
    SourceFacts.of(rdd).write(to);
    to.end();
  }

  private static String formatOf(Object format) {
    if (format == null) {
      return null;
    }
    String name = SparkCompat.text(format, "shortName");
    return name == null ? Shape.of(format).simpleName : name;
  }

  private static Object names(Object structType) {
    return structType == null ? null : SparkCompat.call(structType, "fieldNames");
  }

  private static List<Object> texts(Object values) {
    List<Object> texts = new ArrayList<>();
    for (Object value : SparkCompat.list(values)) {
      String text = SparkCompat.text(value, "describe");
      texts.add(text == null ? String.valueOf(value) : text);
    }
    return texts;
  }

  private static List<Object> rootPaths(Object fileIndex) {
    List<Object> uris = new ArrayList<>();
    for (Object path : SparkCompat.list(SparkCompat.call(fileIndex, "rootPaths"))) {
      uris.add(uri(path));
    }
    return uris;
  }

  /** URI-encoded: {@code Path.toString} is decoded and cannot be read back. */
  private static String uri(Object path) {
    return path instanceof URI ? path.toString() : String.valueOf(SparkCompat.call(path, "toUri"));
  }
}
