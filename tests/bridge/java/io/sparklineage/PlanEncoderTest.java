package io.sparklineage;

import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

final class PlanEncoderTest {

  private static PlanEncoder encoder(int bytes, int rows) {
    return new PlanEncoder(new Limits(bytes, rows), new Redactor(null, null), 0);
  }

  private static Expression literal() {
    return Literal.create(true, DataTypes.BooleanType);
  }

  static void testAPlanDeeperThanAnyStack() {
    LogicalPlan plan = new OneRowRelation();
    Expression condition = literal();
    for (int i = 0; i < 100_000; i++) {
      plan = new Filter(condition, plan);
    }
    PlanEncoder encoder = encoder(1 << 26, 1 << 20);
    Check.equal(100_001, encoder.plan(plan));
    Check.equal(100_002, encoder.rowCount());
  }

  static void testAnExpressionDeeperThanAnyStack() {
    Expression expression = literal();
    for (int i = 0; i < 100_000; i++) {
      expression = new Not(expression);
    }
    Check.equal(100_000, encoder(1 << 26, 1 << 20).plan(expression));
  }

  static void testASharedSubtreeStandsOnce() {
    Expression expression = literal();
    for (int i = 0; i < 200; i++) {
      // As a tree this has more nodes than there are atoms.
      expression = new And(expression, expression);
    }
    Check.equal(200, encoder(1 << 20, 1000).plan(expression));
  }

  static void testAPlanOverALimitIsTakenBack() {
    Expression small = new Not(literal());
    Expression large = literal();
    for (int i = 0; i < 100; i++) {
      large = new And(large, Literal.create("text " + i, DataTypes.StringType));
    }
    PlanEncoder encoder = encoder(1 << 20, 50);
    Check.equal(1, encoder.plan(small));
    String before = tables(encoder);
    try {
      encoder.plan(large);
      throw new AssertionError("it has more than 50 rows");
    } catch (Limits.Exceeded e) {
      Check.that(e.getMessage().contains("spark.lineage.plan.nodes"), e.getMessage());
    }
    String after = tables(encoder);
    Check.equal(2, encoder.rowCount());
    Check.equal(nodes(before), nodes(after));
    Check.equal(2, encoder.plan(new Not(small)));

    PlanEncoder narrow = encoder(1_000, 1_000);
    try {
      narrow.plan(large);
      throw new AssertionError("it has more than 1000 bytes");
    } catch (Limits.Exceeded e) {
      Check.that(e.getMessage().contains("spark.lineage.record.bytes"), e.getMessage());
    }
  }

  /** As Spark's own sinks of its first streaming API are. */
  static final class Silent implements Table {
    @Override
    public String name() {
      throw new IllegalStateException("should not be called");
    }

    @Override
    public StructType schema() {
      throw new IllegalStateException("should not be called");
    }

    @Override
    public Set<TableCapability> capabilities() {
      throw new IllegalStateException("should not be called");
    }
  }

  static void testAnObjectThatThrowsIsItsClassAndSaidToBe() {
    ValueWriter writer = encoder(1 << 20, 100).writer();
    Check.equal(null, writer.undescribed());
    writer.out.append('[');
    writer.value(new Silent());
    Check.equal("[{\"c\":-1}", writer.out.toString());
    Check.equal(
        "Silent not described: java.lang.IllegalStateException", writer.undescribed());
  }

  static void testSimpleNamesAreStable() {
    Runnable lambda = () -> {};
    Check.equal("PlanEncoderTest$$Lambda", Shape.of(lambda).simpleName);
    Check.equal("Inner", Shape.simpleName("a.b.Outer$Inner"));
    Check.equal("Thing", Shape.simpleName("a.b.Thing$"));
    Check.equal("Outer$1", Shape.simpleName("a.b.Outer$1"));
  }

  private static String tables(PlanEncoder encoder) {
    StringBuilder out = new StringBuilder("{");
    encoder.writeTables(out);
    return out.toString();
  }

  private static String nodes(String tables) {
    return tables.substring(tables.indexOf("\"nodes\""));
  }
}
