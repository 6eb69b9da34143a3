package io.sparklineage;

import java.util.Map;

/**
 * What Spark's listener bus had no room for on our queue, as Spark's own metric counts it: events
 * of any kind, since a queue gets them all. Used by the bus's thread only.
 */
final class BusDrops {

  private final Object bus;
  private final String metric;
  private Object counter;
  private long known;

  BusDrops(Object sparkContext, String queue) {
    bus = SparkCompat.call(sparkContext, "listenerBus");
    metric = "queue." + queue + ".numDroppedEvents";
  }

  /** How many there were since the last call. */
  long more() {
    if (counter == null) {
      Object registry = SparkCompat.call(SparkCompat.call(bus, "metrics"), "metricRegistry");
      Object counters = SparkCompat.call(registry, "getCounters");
      counter = counters instanceof Map ? ((Map<?, ?>) counters).get(metric) : null;
    }
    Object count = SparkCompat.call(counter, "getCount");
    long more = count instanceof Long ? (Long) count - known : 0;
    known += more;
    return more;
  }
}
