package io.sparklineage;

import java.util.ArrayList;
import java.util.List;

/**
 * What the session catalog has done to tables while one execution ran, by its own events: a plan
 * with IF EXISTS does not say whether anything was there.
 *
 * <p>Confined to the listener bus thread. The events name no execution, so each that runs keeps
 * them all; who reads them looks for the names of its own tables.
 */
final class TableChanges {

  private static final int MOST = 256;
  private static final int LONGEST_NAME = 1_024;

  private final List<String> told = new ArrayList<>(0);
  private boolean tooMany;

  /** An event of the catalog as JSON; null if it is none that makes, drops or renames a table. */
  static String json(Object event) {
    String kind = Shape.of(event).simpleName;
    switch (kind) {
      case "CreateTableEvent":
      case "DropTableEvent":
      case "RenameTableEvent":
        StringBuilder out = new StringBuilder("{");
        Json.field(out, "event", kind);
        field(out, event, "database");
        field(out, event, "name");
        if (kind.equals("RenameTableEvent")) {
          field(out, event, "newName");
        }
        return out.append('}').toString();
      default:
        return null;
    }
  }

  private static void field(StringBuilder out, Object event, String name) {
    Json.field(out, name, Limits.cut(SparkCompat.text(event, name), LONGEST_NAME));
  }

  void add(String json) {
    if (told.size() < MOST) {
      told.add(json);
    } else {
      tooMany = true;
    }
  }

  /** A list of what was told, or null if it was more than is kept. */
  void write(StringBuilder to) {
    to.append(tooMany ? "null" : "[" + String.join(",", told) + "]");
  }
}
