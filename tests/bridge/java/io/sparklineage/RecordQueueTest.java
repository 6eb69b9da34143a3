package io.sparklineage;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

final class RecordQueueTest {

  private static RecordQueue queue(int records, long bytes, long leaseMs) {
    RecordQueue queue = new RecordQueue(TimeUnit.MILLISECONDS.toNanos(leaseMs));
    queue.open(records, bytes);
    return queue;
  }

  private static boolean offer(RecordQueue queue, String text) {
    return queue.offer((sequence, dropped) -> "\"" + sequence + text + "\"", false);
  }

  static void testRecordsComeInOrderAndStayUntilAcknowledged() {
    RecordQueue queue = queue(10, 1000, 30_000);
    offer(queue, "a");
    offer(queue, "b");
    offer(queue, "c");
    Check.that(queue.claim("one"), "a free lease is given");
    Check.equal("[\"1a\",\"2b\"]", queue.lease("one", 2, 1000, 0));
    Check.equal("[\"3c\"]", queue.lease("one", 2, 1000, 0));
    queue.ack(1);
    Check.equal(2, queue.unacknowledged().size());
    queue.release();
    Check.that(queue.claim("one"), "a released lease is given");
    Check.equal("[\"2b\",\"3c\"]", queue.lease("one", 9, 1000, 0));
    queue.ack(3);
    Check.that(queue.awaitEmpty(0), "all is acknowledged");
  }

  static void testOneRecordIsGivenHoweverLarge() {
    RecordQueue queue = queue(10, 1000, 30_000);
    offer(queue, "0123456789");
    offer(queue, "x");
    Check.equal("[\"10123456789\"]", queue.lease(null, 9, 1, 0));
    Check.equal("[\"2x\"]", queue.lease(null, 9, 1, 0));
  }

  static void testAFullQueueDropsTheNewestAndCounts() {
    RecordQueue few = queue(2, 1000, 30_000);
    Check.that(offer(few, "a") && offer(few, "b") && !offer(few, "c"), "the third finds no room");
    few.ack(1);
    few.offer((sequence, dropped) -> "\"" + sequence + dropped + "\"", false);
    Check.equal("[\"2b\",\"3{queue.records=1}\"]", few.lease(null, 9, 1000, 0));
    RecordQueue small = queue(100, 10, 30_000);
    Check.that(offer(small, "aaa") && !offer(small, "bbb"), "six bytes and six are more than ten");
    Check.that(small.offer((sequence, dropped) -> "end", true), "what must be kept is");
    StringBuilder status = new StringBuilder("{");
    small.writeStatus(status);
    Check.that(status.indexOf("\"dropped\":{\"queue.bytes\":1}") > 0, status.toString());
  }

  static void testOneOwnerAtATimeUntilItsLeaseExpires() throws InterruptedException {
    RecordQueue queue = queue(10, 1000, 50);
    offer(queue, "a");
    Check.that(queue.claim("one"), "free");
    Check.that(!queue.claim("two"), "taken");
    Check.equal("[\"1a\"]", queue.lease("one", 9, 1000, 0));
    Check.equal("[]", queue.lease("two", 9, 1000, 0));
    Check.equal("[]", queue.lease(null, 9, 1000, 0));
    Thread.sleep(80);
    Check.that(queue.claim("two"), "expired");
    Check.equal("[\"1a\"]", queue.lease("two", 9, 1000, 0));
    Check.equal("[]", queue.lease("one", 9, 1000, 0));
  }

  static void testAReservedLeaseWaitsForItsKind() {
    RecordQueue queue = queue(10, 1000, 30_000);
    queue.reserve("sidecar:");
    Check.that(!queue.claim("driver:1"), "reserved");
    Check.that(queue.claim("sidecar:1"), "the one it is reserved for");
    queue.release();
    queue.reserve(null);
    Check.that(queue.claim("driver:1"), "free");
  }

  static void testALeaseOfNobodyExpiresToo() throws InterruptedException {
    RecordQueue queue = queue(10, 1000, 50);
    offer(queue, "a");
    Check.equal("[\"1a\"]", queue.lease(null, 9, 1000, 0));
    Check.equal("[]", queue.lease(null, 9, 1000, 0));
    Thread.sleep(80);
    Check.equal("[\"1a\"]", queue.lease(null, 9, 1000, 0));
  }

  static void testALeaseWaitsForARecordAndNoLongerThanAsked() throws InterruptedException {
    RecordQueue queue = queue(10, 1000, 30_000);
    long begin = System.nanoTime();
    Check.equal("[]", queue.lease(null, 9, 1000, 60));
    Check.that(System.nanoTime() - begin >= 50_000_000, "it waited");
    AtomicReference<String> taken = new AtomicReference<>();
    Thread waiting = new Thread(() -> taken.set(queue.lease(null, 9, 1000, 10_000)));
    waiting.start();
    offer(queue, "a");
    waiting.join(5_000);
    Check.equal("[\"1a\"]", taken.get());
  }

  static void testNobodyWaitsOnAClosedQueue() {
    RecordQueue queue = queue(10, 1000, 30_000);
    offer(queue, "a");
    queue.close();
    Check.equal("[\"1a\"]", queue.lease(null, 9, 1000, 10_000));
    long begin = System.nanoTime();
    Check.equal("[]", queue.lease(null, 9, 1000, 10_000));
    Check.that(System.nanoTime() - begin < 5_000_000_000L, "it did not wait");
  }

  static void testAnOwnerThatIsSilentWhileRecordsWaitIsStalled() throws InterruptedException {
    RecordQueue queue = queue(10, 1000, 30_000);
    Check.that(!queue.isStalled(0), "nothing waits");
    offer(queue, "a");
    Check.that(!queue.isStalled(TimeUnit.SECONDS.toNanos(5)), "it came just now");
    Thread.sleep(20);
    Check.that(queue.isStalled(1_000_000), "it waits for 20 ms");
  }
}
