package io.sparklineage;

import java.util.Collections;
import java.util.List;

/** One execution between its start and its end. Confined to the listener bus thread. */
final class Execution {

  final long id;
  long rootId;
  String description;
  String callSite;
  long startTime;
  List<Object> jobTags = Collections.emptyList();
  String jobGroup;

  /** Of a server's execution, once it is known. */
  Clients.Client client;

  /** Found at the start if the query was there, else at the end. */
  String sessionJson;
  String sessionId;
  String sql;
  Boolean stars;
  String mode;

  /** Null if the start was missed: then nobody knows what the catalog did meanwhile. */
  TableChanges tableChanges;

  String name;
  Long endTime;
  Throwable failure;
  String failureText;

  /** What its own tasks wrote, as far as they counted it. */
  long rowsWritten;

  long bytesWritten;

  /** The same of rows, with those of the executions inside this one. */
  long rowsInside;

  /** The last job inside it that wrote files for a Delta table, and whether more is to be known. */
  DeltaWrites.Write deltaWrite;

  boolean deltaWriteUnclear;

  /** The one execution inside it of which jobs were over before they were told of; -1: several. */
  Long deltaJobMissed;

  /** The version of a Delta table that it has committed, once it has ended; null if not proved. */
  Long deltaVersion;

  Execution(long id) {
    this.id = id;
    this.rootId = id;
  }

  void write(StringBuilder to, Redactor redactor) {
    Json.key(to, "execution").append('{');
    Json.field(to, "id", id);
    Json.field(to, "rootId", rootId);
    Json.field(to, "sessionId", sessionId);
    Json.field(to, "thread", (String) null);
    Json.field(to, "description", redactor.message(description));
    Json.field(to, "callSite", redactor.message(callSite));
    Json.field(to, "sql", redactor.sql(Limits.cut(sql, Limits.STATEMENT)));
    Json.field(to, "name", name);
    Json.field(to, "startTime", startTime);
    Json.key(to, "endTime").append(endTime);
    Json.field(to, "outcome", endTime == null ? null : failed() ? "FAILURE" : "SUCCESS");
    Json.key(to, "error");
    if (failed()) {
      Failure.write(to, failure, failureText, redactor);
    } else {
      to.append("null");
    }
    Json.field(to, "jobGroup", redactor.message(Limits.cut(jobGroup, Limits.LITERAL)));
    Json.key(to, "stars").append(stars);
    Json.field(to, "mode", mode);
    Json.key(to, "jobTags").append('[');
    for (int i = 0; i < jobTags.size(); i++) {
      if (i > 0) {
        to.append(',');
      }
      Json.quote(to, String.valueOf(jobTags.get(i)));
    }
    to.append(']');
    if (endTime != null && tableChanges != null) {
      Json.key(to, "tableChanges");
      tableChanges.write(to);
      Json.key(to, "written").append('{');
      Json.field(to, "rows", rowsWritten);
      Json.field(to, "bytes", bytesWritten);
      to.append('}');
    }
    to.append('}');
  }

  boolean failed() {
    return failure != null || failureText != null && !failureText.isEmpty();
  }
}
