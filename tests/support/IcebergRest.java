import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.HTTPRequest;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.apache.iceberg.rest.RESTResponse;
import org.apache.iceberg.rest.responses.ConfigResponse;
import org.apache.iceberg.rest.responses.ErrorResponse;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * A server of several Iceberg catalogs: Iceberg's own REST layer over its JDBC catalog, one of each
 * for a warehouse. As other servers do, it tells a client the prefix of its warehouse and lets
 * nobody in without the token that a client gets for its credential.
 *
 * <p>Arguments: port, folder of all that is kept, client's id, its secret, the token, warehouses.
 */
public final class IcebergRest extends HttpServlet {
  private static final String CONFIG = "/v1/config";
  private static final String TOKENS = "/v1/oauth/tokens";

  private final Map<String, RESTCatalogServlet> warehouses = new HashMap<>();
  private final String client;
  private final String secret;
  private final String token;

  private IcebergRest(String client, String secret, String token) {
    this.client = client;
    this.secret = secret;
    this.token = token;
  }

  public static void main(String[] arguments) throws Exception {
    IcebergRest rest = new IcebergRest(arguments[2], arguments[3], arguments[4]);
    for (int at = 5; at < arguments.length; at++) {
      rest.add(arguments[at], arguments[1]);
    }
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.parseInt(arguments[0]));
    server.addConnector(connector);
    ServletContextHandler handler = new ServletContextHandler();
    handler.addServlet(new ServletHolder(rest), "/*");
    server.setHandler(handler);
    server.start();
    server.join();
  }

  private void add(String warehouse, String folder) throws ServletException {
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.setConf(new Configuration());
    Map<String, String> properties = new HashMap<>();
    properties.put("uri", "jdbc:sqlite:" + folder + "/" + warehouse + ".db");
    properties.put("warehouse", "file:" + folder + "/" + warehouse);
    properties.put("jdbc.schema-version", "V1");
    properties.put("clients", "1");
    catalog.initialize(warehouse, properties);
    warehouses.put(warehouse, new RESTCatalogServlet(new Prefixed(catalog, warehouse)));
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response)
      throws ServletException, IOException {
    String path = request.getRequestURI();
    if (path.equals(TOKENS)) {
      tokens(request, response);
    } else if (!("Bearer " + token).equals(request.getHeader("Authorization"))) {
      response.sendError(HttpServletResponse.SC_UNAUTHORIZED);
    } else if (path.equals(CONFIG)) {
      serve(request.getParameter("warehouse"), request, response);
    } else {
      String[] parts = path.split("/", 4);
      HttpServletRequest inner =
          new HttpServletRequestWrapper(request) {
            @Override
            public String getRequestURI() {
              return "/" + parts[1] + "/" + parts[3];
            }
          };
      serve(parts[2], inner, response);
    }
  }

  private void serve(String warehouse, HttpServletRequest request, HttpServletResponse response)
      throws ServletException, IOException {
    RESTCatalogServlet servlet = warehouses.get(warehouse);
    if (servlet == null) {
      response.sendError(HttpServletResponse.SC_NOT_FOUND);
    } else {
      servlet.service(request, response);
    }
  }

  private void tokens(HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    if (!client.equals(request.getParameter("client_id"))
        || !secret.equals(request.getParameter("client_secret"))) {
      response.sendError(HttpServletResponse.SC_UNAUTHORIZED);
      return;
    }
    response.setContentType("application/json");
    response
        .getWriter()
        .print("{\"access_token\":\"" + token + "\",\"token_type\":\"bearer\",\"expires_in\":3600}");
  }

  /** Tells its clients to put the name of its warehouse into the paths of their requests. */
  private static final class Prefixed extends RESTCatalogAdapter {
    private final String prefix;

    Prefixed(Catalog catalog, String prefix) {
      super(catalog);
      this.prefix = prefix;
    }

    @Override
    protected <T extends RESTResponse> T execute(
        HTTPRequest request,
        Class<T> type,
        Consumer<ErrorResponse> errors,
        Consumer<Map<String, String>> headers) {
      T found = super.execute(request, type, errors, headers);
      if (!(found instanceof ConfigResponse)) {
        return found;
      }
      ConfigResponse known = (ConfigResponse) found;
      return castResponse(
          type,
          ConfigResponse.builder()
              .withDefaults(known.defaults())
              .withOverrides(known.overrides())
              .withOverride("prefix", prefix)
              .withEndpoints(known.endpoints())
              .build());
    }
  }
}
