package io.sparklineage;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;

/**
 * Who asks through a server (Thrift, Connect), learned from the servers' own events.
 *
 * <p>Confined to the listener bus thread; every map is bounded.
 */
final class Clients {

  private static final int BOUND = 10_000;

  /** A client of a server; each part may be null. */
  static final class Client {
    final String address;
    final String user;
    final String statement;

    Client(String address, String user, String statement) {
      this.address = address;
      this.user = user;
      this.statement = statement;
    }
  }

  private static final class Bounded<V> extends LinkedHashMap<String, V> {
    private static final long serialVersionUID = 1L;

    @Override
    protected boolean removeEldestEntry(Map.Entry<String, V> eldest) {
      return size() > BOUND;
    }
  }

  private final Map<String, Client> sessions = new Bounded<>();
  /** By job group (Thrift) or job tag (Connect). */
  private final Map<String, Client> operations = new Bounded<>();
  /** Spark 3 says the job group of an execution only in its jobs' properties. */
  private final Map<String, String> groupOfExecution = new Bounded<>();

  /** Looks at an event of a server, if it is one; the classes may be absent. */
  void onEvent(Object event) {
    switch (Shape.of(event).simpleName) {
      case "SparkListenerThriftServerSessionCreated":
        sessions.put(
            SparkCompat.text(event, "sessionId"),
            new Client(
                SparkCompat.text(event, "ip"), SparkCompat.text(event, "userName"), null));
        break;
      case "SparkListenerThriftServerSessionClosed":
        sessions.remove(SparkCompat.text(event, "sessionId"));
        break;
      case "SparkListenerThriftServerOperationStart":
        Client session = sessions.get(SparkCompat.text(event, "sessionId"));
        operations.put(
            SparkCompat.text(event, "groupId"),
            new Client(
                session == null ? null : session.address,
                SparkCompat.text(event, "userName"),
                SparkCompat.text(event, "statement")));
        break;
      case "SparkListenerThriftServerOperationClosed":
        // Its execution may still end after it; the bound takes it away.
        break;
      case "SparkListenerConnectOperationStarted":
        operations.put(
            SparkCompat.text(event, "jobTag"),
            new Client(null, SparkCompat.text(event, "userName"), null));
        break;
      default:
    }
  }

  void onJobStart(Properties properties) {
    if (properties == null || operations.isEmpty()) {
      return;
    }
    String execution = properties.getProperty("spark.sql.execution.id");
    String group = properties.getProperty("spark.jobGroup.id");
    if (execution != null && group != null) {
      groupOfExecution.put(execution, group);
    }
  }

  Client of(Execution execution) {
    if (operations.isEmpty()) {
      return null;
    }
    String group =
        execution.jobGroup == null
            ? groupOfExecution.remove(String.valueOf(execution.id))
            : execution.jobGroup;
    Client client = group == null ? null : operations.get(group);
    for (Object tag : execution.jobTags) {
      if (client == null) {
        client = operations.get(String.valueOf(tag));
      }
    }
    return client;
  }
}
