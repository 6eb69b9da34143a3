package io.sparklineage;

import java.util.LinkedHashMap;
import java.util.Map;

/** A map that forgets its oldest entry when it would be too large. Not thread-safe. */
final class Bounded<K, V> extends LinkedHashMap<K, V> {

  private static final long serialVersionUID = 1L;
  private static final int MOST = 10_000;

  @Override
  protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
    return size() > MOST;
  }
}
