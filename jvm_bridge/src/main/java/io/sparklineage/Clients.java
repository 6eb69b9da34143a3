package io.sparklineage;

import java.util.Collections;
import java.util.Map;
import java.util.Properties;

/**
 * Who asks through a server (Thrift, Connect), learned from the servers' own events.
 *
 * <p>Confined to the listener bus thread; every map is bounded.
 */
final class Clients {

  private static final String CONNECT = "Spark Connect";

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

  private final Map<String, Client> sessions = new Bounded<>();
  /** By job group (Thrift) or job tag (Connect); what ended stays, its execution may end later. */
  private final Map<String, Client> operations = new Bounded<>();
  /** The operations of Thrift clients that have not ended, by their ids. */
  private final Map<String, Client> open = new Bounded<>();
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
        Client client =
            new Client(
                session == null ? null : session.address,
                SparkCompat.text(event, "userName"),
                SparkCompat.text(event, "statement"));
        operations.put(SparkCompat.text(event, "groupId"), client);
        open.put(SparkCompat.text(event, "id"), client);
        break;
      case "SparkListenerThriftServerOperationClosed":
        open.remove(SparkCompat.text(event, "id"));
        break;
      case "SparkListenerConnectOperationStarted":
        operations.put(
            SparkCompat.text(event, "jobTag"),
            new Client(null, connectUser(event), connectStatement(event)));
        break;
      default:
    }
  }

  /** A client need not say its user's name; the id is what the server knows its session by. */
  private static String connectUser(Object event) {
    String id = SparkCompat.text(event, "userId");
    return id == null || id.isEmpty() ? SparkCompat.text(event, "userName") : id;
  }

  /** The text of a SQL command in the request, which the analyzed plan of a command may lose. */
  private static String connectStatement(Object event) {
    Object plan = SparkCompat.call(SparkCompat.callOption(event, "planRequest"), "getPlan");
    Object command = SparkCompat.call(SparkCompat.call(plan, "getCommand"), "getSqlCommand");
    Object input = SparkCompat.call(SparkCompat.call(command, "getInput"), "getSql");
    String text = SparkCompat.text(input, "getQuery");
    // Before Spark 4 the command itself holds the text.
    text = text == null || text.isEmpty() ? SparkCompat.text(command, "getSql") : text;
    return text == null || text.isEmpty() ? null : text;
  }

  /**
   * An execution's description as a call site: Connect's is the start of its request, other in each
   * session, and says nothing that the record does not.
   */
  static String callSite(String description) {
    return description != null && description.startsWith(CONNECT + " - ") ? CONNECT : description;
  }

  void onJobStart(Properties properties) {
    if (properties == null || operations.isEmpty()) {
      return;
    }
    String group = properties.getProperty("spark.jobGroup.id");
    if (group == null || !operations.containsKey(group)) {
      return;
    }
    // A command's jobs are those of an execution inside its own.
    for (String key : new String[] {"spark.sql.execution.id", "spark.sql.execution.root.id"}) {
      String execution = properties.getProperty(key);
      if (execution != null) {
        groupOfExecution.put(execution, group);
      }
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
    return client == null ? byStatement(execution.description) : client;
  }

  /**
   * Spark 3 tells the job group of an execution without jobs nowhere, but describes each by its
   * statement: whose it is where one client alone has it open.
   */
  private Client byStatement(String description) {
    Client found = null;
    for (Client client : description == null ? Collections.<Client>emptyList() : open.values()) {
      if (description.equals(Limits.cut(client.statement, Limits.STATEMENT))) {
        boolean other =
            found != null
                && !(same(found.user, client.user) && same(found.address, client.address));
        if (other) {
          return null;
        }
        found = client;
      }
    }
    return found;
  }

  private static boolean same(String one, String other) {
    return one == null ? other == null : one.equals(other);
  }
}
