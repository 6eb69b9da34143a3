import java.util.Arrays;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.sources.BaseRelation;
import org.apache.spark.sql.sources.RelationProvider;
import org.apache.spark.sql.sources.TableScan;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.rdd.RDD;
import scala.collection.immutable.Map;

/** A source whose relation throws an error of the virtual machine at whoever captures it. */
public final class Faulty implements RelationProvider {

  @Override
  public BaseRelation createRelation(SQLContext context, Map<String, String> options) {
    return new Relation(context, options.apply("error"));
  }

  static final class Relation extends BaseRelation implements TableScan {
    private final SQLContext context;
    private final String error;

    Relation(SQLContext context, String error) {
      this.context = context;
      this.error = error;
    }

    @Override
    public SQLContext sqlContext() {
      return context;
    }

    @Override
    public StructType schema() {
      return new StructType().add("id", "long");
    }

    @Override
    public RDD<Row> buildScan() {
      // Rows of their own: made by a query they would be captured, and well, by another record.
      List<Row> rows = Arrays.asList(RowFactory.create(0L), RowFactory.create(1L));
      return new JavaSparkContext(context.sparkContext()).parallelize(rows, 1).rdd();
    }

    @Override
    public String toString() {
      for (StackTraceElement frame : Thread.currentThread().getStackTrace()) {
        if (frame.getClassName().startsWith("io.sparklineage.")) {
          throwIt();
        }
      }
      return "Faulty";
    }

    private void throwIt() {
      switch (error) {
        case "StackOverflowError":
          throwIt();
          return;
        case "OutOfMemoryError":
          throw new OutOfMemoryError("Java heap space");
        case "NoSuchMethodError":
          throw new NoSuchMethodError("org.apache.spark.Unknown.method()");
        case "NoClassDefFoundError":
          throw new NoClassDefFoundError("org/apache/spark/Unknown");
        default:
          throw new IllegalArgumentException(error);
      }
    }
  }
}
