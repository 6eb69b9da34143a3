package io.sparklineage;

import java.util.List;

/**
 * What a JDBC relation sends to the other database, as statements.
 *
 * <p>The options' texts are redacted as any text is, by which {@code token = other.token} would
 * lose its right side; a statement is redacted as a statement.
 */
final class JdbcFacts {

  private static final String[] STATEMENTS = {"dbtable", "query", "prepareQuery"};

  private JdbcFacts() {}

  static void statements(Object relation, ValueWriter to) {
    Object options = SparkCompat.call(relation, "jdbcOptions");
    Object parameters = SparkCompat.call(options, "parameters");
    if (parameters == null) {
      return;
    }
    for (String key : STATEMENTS) {
      Object value = SparkCompat.unwrap(SparkCompat.callWith(parameters, "get", key));
      if (value instanceof String) {
        to.statement(key, (String) value);
      }
    }
    if (SparkCompat.callOption(options, "partitionColumn") == null) {
      to.statement("condition", condition(SparkCompat.list(SparkCompat.call(relation, "parts"))));
    }
  }

  /** The conditions of all partitions, which were given by hand; null if there are none. */
  private static String condition(List<Object> partitions) {
    StringBuilder all = new StringBuilder();
    for (Object partition : partitions) {
      String clause = SparkCompat.text(partition, "whereClause");
      if (clause == null) {
        // This one reads every row.
        return null;
      }
      if (all.length() > Limits.TEXT) {
        break;
      }
      all.append(all.length() == 0 ? "(" : " OR (").append(clause).append(')');
    }
    return all.length() == 0 ? null : all.toString();
  }
}
