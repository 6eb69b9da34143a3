package io.sparklineage;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * The elements of a collection that are kept: trees all, of the rest the first few, rows of data
 * none (a {@code LocalRelation} holds the user's data).
 */
final class Elements {

  final List<Object> kept = new ArrayList<>();
  /** How many were left out; -1 if that cannot be told without computing them. */
  long left;

  private Elements() {}

  static Elements of(Object collection) {
    Elements elements = new Elements();
    if (collection instanceof scala.collection.Iterable) {
      elements.take((scala.collection.Iterable<?>) collection);
    } else if (collection instanceof Collection) {
      Iterator<?> iterator = ((Collection<?>) collection).iterator();
      while (iterator.hasNext() && elements.keep(iterator.next())) {
        continue;
      }
      elements.countLeft(((Collection<?>) collection).size());
    } else {
      Object[] array = (Object[]) collection;
      for (int i = 0; i < array.length && elements.keep(array[i]); i++) {
        continue;
      }
      elements.countLeft(array.length);
    }
    return elements;
  }

  private void take(scala.collection.Iterable<?> collection) {
    scala.collection.Iterator<?> iterator = collection.iterator();
    boolean all = true;
    while (all && iterator.hasNext()) {
      all = keep(iterator.next());
    }
    if (!all) {
      // Only a collection that knows its size is asked: to count a lazy one is to compute it.
      boolean sized = collection instanceof scala.collection.IndexedSeq;
      Object size = sized ? SparkCompat.call(collection, "size") : null;
      if (size instanceof Integer) {
        countLeft((Integer) size);
      } else {
        left = -1;
      }
    }
  }

  private void countLeft(int size) {
    left = size - kept.size();
  }

  /** Keeps the element, or says that here the list ends. */
  private boolean keep(Object element) {
    if (element != null) {
      Shape shape = Shape.of(element);
      if (shape.role == Shape.Role.ROW || kept.size() >= Limits.LIST && !shape.isTree()) {
        return false;
      }
    }
    kept.add(element);
    return true;
  }

  /** The key of an entry of a Scala or a Java map. */
  static Object key(Object entry) {
    return entry instanceof Map.Entry
        ? ((Map.Entry<?, ?>) entry).getKey()
        : ((scala.Tuple2<?, ?>) entry)._1();
  }

  static Object value(Object entry) {
    return entry instanceof Map.Entry
        ? ((Map.Entry<?, ?>) entry).getValue()
        : ((scala.Tuple2<?, ?>) entry)._2();
  }
}
