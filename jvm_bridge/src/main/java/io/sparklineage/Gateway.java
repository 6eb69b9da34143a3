package io.sparklineage;

import java.io.IOException;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.CallbackClient;
import py4j.DefaultGatewayServerListener;
import py4j.GatewayServer;

/**
 * The py4j gateway that the sidecar calls: on loopback, on a free port, with a random secret,
 * since an open gateway is remote code execution.
 *
 * <p>py4j's accept thread and its callback client's cleaner are no daemons, and either keeps the
 * driver alive for ever: the server runs inside a daemon thread, whose threads are daemons too,
 * and the client gets a minimum connection time of 0, which starts no cleaner.
 */
final class Gateway {

  private static final int START_SECONDS = 10;

  final String token = randomToken();
  private final GatewayServer server;
  private final CountDownLatch started = new CountDownLatch(1);

  Gateway(Object entryPoint) throws IOException {
    InetAddress loopback = InetAddress.getByName("127.0.0.1");
    CallbackClient noCallbacks =
        new CallbackClient(
            0, loopback, token, 0L, TimeUnit.SECONDS, SocketFactory.getDefault(), false, 0);
    server =
        new GatewayServer.GatewayServerBuilder(entryPoint)
            .javaPort(0)
            .javaAddress(loopback)
            .authToken(token)
            .callbackClient(noCallbacks)
            .build();
    server.addListener(
        new DefaultGatewayServerListener() {
          @Override
          public void serverStarted() {
            started.countDown();
          }
        });
  }

  void start() throws IOException, InterruptedException {
    Thread thread = new Thread(() -> server.start(false), "spark-lineage-gateway");
    thread.setDaemon(true);
    thread.start();
    if (!started.await(START_SECONDS, TimeUnit.SECONDS)) {
      throw new IOException("the gateway did not start");
    }
  }

  int port() {
    return server.getListeningPort();
  }

  void close() {
    server.shutdown();
  }

  private static String randomToken() {
    byte[] bytes = new byte[32];
    new SecureRandom().nextBytes(bytes);
    StringBuilder text = new StringBuilder();
    for (byte b : bytes) {
      text.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
    }
    return text.toString();
  }
}
