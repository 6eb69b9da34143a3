package io.sparklineage;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * Where records go without an agent: a file of JSON lines that {@code spark-lineage replay} turns
 * into events later. Only the owner can read it; {@code spark.lineage.spool.bytes} bounds it.
 *
 * <p>A daemon thread writes; {@link #writeAll} may be called by another. Guarded by this.
 */
final class RecordFile implements Runnable {

  private static final long WAIT_MS = 500;

  private final Capture capture;
  private final RecordQueue queue;
  private final long maxBytes;
  private final Path directory;
  private FileChannel channel;
  private long written;
  private boolean broken;
  private volatile boolean closed;

  RecordFile(Capture capture) {
    this.capture = capture;
    this.queue = capture.queue;
    this.maxBytes = capture.settings.spoolBytes;
    String given = capture.settings.spoolDir;
    this.directory =
        given == null
            ? Paths.get(System.getProperty("user.home"), ".spark_lineage", "spool")
            : Paths.get(home(given));
  }

  private static String home(String path) {
    return path.startsWith("~/") ? System.getProperty("user.home") + path.substring(1) : path;
  }

  String describe() {
    return "records go to " + directory + ", for 'spark-lineage replay'";
  }

  void start() {
    Thread thread = new Thread(this, "spark-lineage-record-file");
    thread.setDaemon(true);
    thread.start();
  }

  /** Nothing is written any more: the file is free for a replay. */
  void close() {
    closed = true;
    synchronized (this) {
      try {
        if (channel != null) {
          channel.close();
        }
      } catch (IOException e) {
        Log.debug("spark_lineage: closing the file of records", e);
      }
      channel = null;
    }
  }

  @Override
  public void run() {
    try {
      while (!closed) {
        queue.awaitRecord(WAIT_MS);
        String owner = queue.owner();
        if (capture.context.applicationId() == null || owner != null) {
          // No name for the file yet, or an agent in the driver has joined.
          Thread.sleep(20);
        } else {
          writeAll();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Throwable e) {
      Log.debug("spark_lineage: the file of records", e);
    }
  }

  /** Writes what is not acknowledged, and acknowledges it. */
  synchronized void writeAll() {
    List<byte[]> records = queue.unacknowledged();
    if (records.isEmpty()) {
      return;
    }
    long last = queue.lastOf(records.size());
    try {
      write(records);
    } catch (IOException | RuntimeException e) {
      if (!broken) {
        broken = true;
        Log.warn("spark_lineage: records are lost, " + directory + " cannot be written: " + e);
      }
      records.forEach(record -> queue.count("file.error"));
    }
    queue.ack(last);
  }

  private void write(List<byte[]> records) throws IOException {
    if (channel == null) {
      channel = open();
      // Held as long as the application runs: a replay leaves alone what is still written.
      channel.lock();
      written = channel.size();
    }
    for (byte[] record : records) {
      if (written + record.length + 1 > maxBytes) {
        queue.count("file.full");
        continue;
      }
      byte[] line = Arrays.copyOf(record, record.length + 1);
      line[record.length] = '\n';
      for (ByteBuffer left = ByteBuffer.wrap(line); left.hasRemaining(); ) {
        channel.write(left);
      }
      written += line.length;
    }
  }

  private FileChannel open() throws IOException {
    Path file =
        directory.resolve(
            "records-" + capture.context.applicationId().replaceAll("[^\\w.\\-]", "_") + ".jsonl");
    if (!Files.isDirectory(directory)) {
      Files.createDirectories(directory);
      restrict(directory, "rwx------");
    }
    if (!Files.exists(file)) {
      try {
        Set<PosixFilePermission> own = PosixFilePermissions.fromString("rw-------");
        Files.createFile(file, PosixFilePermissions.asFileAttribute(own));
      } catch (UnsupportedOperationException e) {
        // No POSIX permissions here.
        Files.createFile(file);
      }
    }
    return FileChannel.open(file, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
  }

  private static void restrict(Path path, String permissions) throws IOException {
    try {
      Files.setPosixFilePermissions(path, PosixFilePermissions.fromString(permissions));
    } catch (UnsupportedOperationException e) {
      // No POSIX permissions here.
    }
  }
}
