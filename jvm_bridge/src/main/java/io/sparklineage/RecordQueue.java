package io.sparklineage;

import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Records that wait for the agent: bounded by number and by bytes, leased and acknowledged.
 *
 * <p>Whoever offers never waits: what finds no room is dropped and counted. Thread-safe by one
 * lock, which is held only for short copies in memory.
 */
final class RecordQueue {

  /** A lease neither renewed nor acknowledged for so long is handed out again. */
  static final long LEASE_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final class Entry {
    final long sequence;
    final byte[] bytes;

    Entry(long sequence, byte[] bytes) {
      this.sequence = sequence;
      this.bytes = bytes;
    }
  }

  private final long leaseNanos;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final Deque<Entry> entries = new ArrayDeque<>();
  private final Map<String, Long> dropped = new TreeMap<>();
  private long bytes;
  private long sequence;
  private long acknowledged;
  /** All up to this sequence are leased. */
  private long leasedTo;
  private String owner;
  private String reserved;
  private long renewed;
  /** When a record came into the empty queue. */
  private long arrived;

  private int maxRecords;
  private long maxBytes;
  private boolean closed;

  RecordQueue(long leaseNanos) {
    this.leaseNanos = leaseNanos;
  }

  /** Records come from now on, within these bounds. */
  void open(int records, long size) {
    lock.lock();
    try {
      maxRecords = records;
      maxBytes = size;
      closed = false;
    } finally {
      lock.unlock();
    }
  }

  /** No record comes any more: nobody waits for one. */
  void close() {
    lock.lock();
    try {
      closed = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Makes the record's text once its sequence and the counters are known. */
  interface Composer {
    String compose(long sequence, Map<String, Long> dropped);
  }

  /** Takes the record if there is room; {@code must}: even if there is none (it is small). */
  boolean offer(Composer composer, boolean must) {
    lock.lock();
    try {
      if (!must && entries.size() >= maxRecords) {
        return drop("queue.records");
      }
      byte[] record = composer.compose(sequence + 1, dropped).getBytes(StandardCharsets.UTF_8);
      if (!must && bytes + record.length > maxBytes) {
        return drop("queue.bytes");
      }
      entries.add(new Entry(++sequence, record));
      if (entries.size() == 1) {
        arrived = System.nanoTime();
      }
      bytes += record.length;
      changed.signalAll();
      return true;
    } finally {
      lock.unlock();
    }
  }

  private boolean drop(String reason) {
    dropped.merge(reason, 1L, Long::sum);
    return false;
  }

  void count(String reason) {
    count(reason, 1);
  }

  /** Counts losses that happened elsewhere; none leaves no trace. */
  void count(String reason, long number) {
    if (number == 0) {
      return;
    }
    lock.lock();
    try {
      dropped.merge(reason, number, Long::sum);
    } finally {
      lock.unlock();
    }
  }

  /** Only owners of this kind may claim, from before they are there; null: any may. */
  void reserve(String kind) {
    lock.lock();
    try {
      reserved = kind;
    } finally {
      lock.unlock();
    }
  }

  /** Takes the lease for this owner if no other that lives has it. */
  boolean claim(String claimant) {
    lock.lock();
    try {
      expire();
      boolean taken = owner != null && !owner.equals(claimant);
      if (taken || reserved != null && !claimant.startsWith(reserved)) {
        return false;
      }
      if (owner == null) {
        leasedTo = acknowledged;
      }
      owner = claimant;
      renewed = System.nanoTime();
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Gives up the lease: what is not acknowledged is handed out again. */
  void release() {
    lock.lock();
    try {
      owner = null;
      leasedTo = acknowledged;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void expire() {
    boolean held = owner != null || leasedTo > acknowledged;
    if (held && System.nanoTime() - renewed > leaseNanos) {
      owner = null;
      leasedTo = acknowledged;
    }
  }

  /** Waits for records and leases them; {@code leaseholder} null: who has claimed nothing. */
  String lease(String leaseholder, int records, int size, long timeoutMs) {
    long left = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    lock.lock();
    try {
      expire();
      if (!holds(leaseholder)) {
        return "[]";
      }
      renewed = System.nanoTime();
      while (leasedTo >= sequence && left > 0 && !closed) {
        left = changed.awaitNanos(left);
        if (!holds(leaseholder)) {
          return "[]";
        }
      }
      renewed = System.nanoTime();
      return take(records, size);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "[]";
    } finally {
      lock.unlock();
    }
  }

  private boolean holds(String leaseholder) {
    return owner == null ? leaseholder == null : owner.equals(leaseholder);
  }

  private String take(int records, int size) {
    List<byte[]> taken = new ArrayList<>();
    int total = 2;
    for (Entry entry : entries) {
      if (entry.sequence <= leasedTo) {
        continue;
      }
      boolean full = taken.size() >= records || total + entry.bytes.length > size;
      if (full && !taken.isEmpty()) {
        break;
      }
      taken.add(entry.bytes);
      total += entry.bytes.length + 1;
      leasedTo = entry.sequence;
    }
    StringBuilder text = new StringBuilder(total).append('[');
    for (byte[] record : taken) {
      if (text.length() > 1) {
        text.append(',');
      }
      text.append(new String(record, StandardCharsets.UTF_8));
    }
    return text.append(']').toString();
  }

  /** Forgets all records up to this one. */
  void ack(long upTo) {
    lock.lock();
    try {
      while (!entries.isEmpty() && entries.peek().sequence <= upTo) {
        Entry entry = entries.poll();
        bytes -= entry.bytes.length;
        acknowledged = entry.sequence;
      }
      leasedTo = Math.max(leasedTo, acknowledged);
      renewed = System.nanoTime();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Waits until all is acknowledged. */
  boolean awaitEmpty(long timeoutMs) {
    long left = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    lock.lock();
    try {
      while (!entries.isEmpty()) {
        if (left <= 0) {
          return false;
        }
        left = changed.awaitNanos(left);
      }
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }

  /** Who has the lease and lives, or null. */
  String owner() {
    lock.lock();
    try {
      expire();
      return owner;
    } finally {
      lock.unlock();
    }
  }

  /** Whether records wait and their owner has not been heard of for so long. */
  boolean isStalled(long nanos) {
    lock.lock();
    try {
      return !entries.isEmpty() && System.nanoTime() - Math.max(renewed, arrived) > nanos;
    } finally {
      lock.unlock();
    }
  }

  /** The records that are not acknowledged, leased or not; they stay. */
  List<byte[]> unacknowledged() {
    lock.lock();
    try {
      List<byte[]> records = new ArrayList<>(entries.size());
      for (Entry entry : entries) {
        records.add(entry.bytes);
      }
      return records;
    } finally {
      lock.unlock();
    }
  }

  /** The sequence of the record at this place (from 1) of those not acknowledged. */
  long lastOf(int count) {
    lock.lock();
    try {
      return acknowledged(count);
    } finally {
      lock.unlock();
    }
  }

  private long acknowledged(int count) {
    long last = acknowledged;
    Iterator<Entry> iterator = entries.iterator();
    for (int i = 0; i < count && iterator.hasNext(); i++) {
      last = iterator.next().sequence;
    }
    return last;
  }

  /** Waits until there is a record, or the time is over. */
  void awaitRecord(long timeoutMs) throws InterruptedException {
    long left = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    lock.lock();
    try {
      while (entries.isEmpty() && left > 0) {
        left = changed.awaitNanos(left);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Adds what is known of the queue to a JSON object. */
  void writeStatus(StringBuilder to) {
    lock.lock();
    try {
      expire();
      long leased = 0;
      for (Iterator<Entry> i = entries.iterator(); i.hasNext() && i.next().sequence <= leasedTo; ) {
        leased++;
      }
      Json.field(to, "queued", entries.size());
      Json.field(to, "queuedBytes", bytes);
      Json.field(to, "leased", leased);
      Json.field(to, "lastSequence", sequence);
      Json.field(to, "acknowledged", acknowledged);
      Json.numbers(to, "dropped", dropped);
      Json.field(to, "owner", owner);
    } finally {
      lock.unlock();
    }
  }
}
