package io.sparklineage;

import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;

/** What only the parsed plan tells: the statement's text, and whether a star stood in it. */
final class ParsedFacts {

  private static final int MOST_NODES = 20_000;
  private static final int MOST_BELOW = 100;

  /** How Spark describes an action that came by SparkSession.sql, which has one statement. */
  private static final String BY_SQL = "sql at ";

  /** The same in the call stack, which people and connectors (Hudi) do not describe anew. */
  private static final Pattern CALLED_BY_SQL =
      Pattern.compile("\\s*org\\.apache\\.spark\\.sql\\.(?:classic\\.)?SparkSession\\.sql\\(");

  private static final String STAR = "org.apache.spark.sql.catalyst.analysis.Star";
  /** A description is one only if it begins as one does: people begin sentences likewise. */
  private static final Pattern STATEMENT =
      Pattern.compile(
          "(?is)\\s*(?:/\\*.*?\\*/\\s*|--[^\\n]*\\n\\s*)*+(?:select\\s|with\\s+\\S+\\s.*\\bas\\b"
              + "|insert\\s+(?:into|overwrite)|(?:create|drop|alter|replace|truncate)\\s+(?:or"
              + "|table|view|temp|temporary|global|external|database|schema|namespace|function)"
              + "|merge\\s+into|update\\s.*\\sset|delete\\s+from|cache\\s+(?:lazy|table)"
              + "|load\\s+data|from\\s.*\\s(?:insert|select)|table\\s+\\S+\\s*$|values\\s*[(\\d'\"]"
              + "|use\\s+\\S+\\s*$|set\\s+\\S+=|refresh\\s+(?:table|function|\\S+\\s*$)"
              + "|analyze\\s+table|msck\\s+repair|show\\s+\\w+|desc(?:ribe)?\\s+|explain\\s"
              + "|call\\s+\\S+\\(|optimize\\s+\\S+|copy\\s+into|vacuum\\s).*");

  /** What Spark itself describes an action with: {@code select at Job.scala:12}. */
  private static final Pattern CALL_SITE = Pattern.compile("\\w+ at \\S+");

  private ParsedFacts() {}

  /**
   * The text of the statement: Spark keeps it with the nodes it parsed, but not for each command
   * in each version; servers put it into the description.
   */
  static String sql(
      LogicalPlan parsed, LogicalPlan analyzed, String description, String callSite) {
    String text = textOf(analyzed);
    if (text == null) {
      text = textOf(parsed);
    }
    boolean called = callSite != null && CALLED_BY_SQL.matcher(callSite).lookingAt();
    if (text == null
        && (called || (description != null && description.startsWith(BY_SQL)))) {
      text = textBelow(analyzed);
    }
    boolean statement =
        description != null
            && !CALL_SITE.matcher(description).matches()
            && STATEMENT.matcher(description).matches();
    return text == null && statement ? description : text;
  }

  /**
   * Commands that the analyzer rewrites lose their text on 4.x, the query below them keeps it: the
   * text of the whole statement, unless it came from a view. A relation may be an earlier
   * statement's: Spark caches them. A subquery may be the body of a SQL function, which was parsed
   * on its own: it is asked last.
   */
  private static String textBelow(LogicalPlan analyzed) {
    Deque<Object> stack = new ArrayDeque<>();
    Deque<Object> subqueries = new ArrayDeque<>();
    if (analyzed != null) {
      stack.push(analyzed);
    }
    for (int looked = 0; looked < MOST_BELOW; looked++) {
      Deque<Object> next = stack.isEmpty() ? subqueries : stack;
      if (next.isEmpty()) {
        return null;
      }
      TreeNode<?> node = (TreeNode<?>) next.pop();
      String text = textOf(node);
      String name = Shape.of(node).simpleName;
      boolean cached = name.equals("LogicalRelation");
      if (text != null
          && !cached
          && SparkCompat.callOption(node.origin(), "objectType") == null) {
        return text;
      }
      if (!name.equals("View")) {
        pushTrees(SparkCompat.children(node), stack, 0);
        for (Object inner : SparkCompat.list(SparkCompat.call(node, "innerChildren"))) {
          pushTrees(inner, node instanceof Command ? stack : subqueries, 0);
        }
      }
    }
    return null;
  }

  private static String textOf(TreeNode<?> plan) {
    return plan == null ? null : (String) SparkCompat.unwrap(plan.origin().sqlText());
  }

  /** Null: not known, the plan is too large to look through. */
  static Boolean stars(Object parsed) {
    Deque<Object> stack = new ArrayDeque<>();
    Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    stack.push(parsed);
    while (!stack.isEmpty()) {
      Object node = stack.pop();
      if (!seen.add(node)) {
        continue;
      }
      if (seen.size() > MOST_NODES) {
        return null;
      }
      Shape shape = Shape.of(node);
      if (shape.is(STAR) || shape.simpleName.equals("UnresolvedRegex")) {
        return true;
      }
      // A plan that is analyzed already (of a DataFrame below) has no star left.
      boolean done =
          shape.role == Shape.Role.PLAN && Boolean.TRUE.equals(SparkCompat.call(node, "analyzed"));
      if (!done && !isCount(node, shape)) {
        pushAll(((scala.Product) node), stack);
        pushTrees(SparkCompat.children(node), stack, 0);
      }
    }
    return false;
  }

  /** The star of {@code count(*)} stands for no column. */
  private static boolean isCount(Object node, Shape shape) {
    if (!shape.simpleName.equals("UnresolvedFunction")) {
      return false;
    }
    List<Object> name = SparkCompat.list(SparkCompat.call(node, "nameParts"));
    return !name.isEmpty() && "count".equalsIgnoreCase(String.valueOf(name.get(name.size() - 1)));
  }

  private static void pushAll(scala.Product node, Deque<Object> stack) {
    for (int i = 0; i < node.productArity(); i++) {
      pushTrees(node.productElement(i), stack, 0);
    }
  }

  private static void pushTrees(Object value, Deque<Object> stack, int nesting) {
    if (value == null || nesting > 3) {
      return;
    }
    Shape shape = Shape.of(value);
    switch (shape.role) {
      case PLAN:
      case EXPRESSION:
        stack.push(value);
        break;
      case OPTION:
        pushTrees(SparkCompat.unwrap(value), stack, nesting);
        break;
      case ITERABLE:
      case JAVA_COLLECTION:
        for (Object element : Elements.of(value).kept) {
          pushTrees(element, stack, nesting + 1);
        }
        break;
      case TUPLE:
        scala.Product tuple = (scala.Product) value;
        for (int i = 0; i < tuple.productArity(); i++) {
          pushTrees(tuple.productElement(i), stack, nesting + 1);
        }
        break;
      default:
    }
  }
}
