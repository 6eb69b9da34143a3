package io.sparklineage;

import java.util.Collections;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.QueryExecution;

/**
 * Puts a record together: the envelope of docs/record.md and the plans' tables.
 *
 * <p>A plan that cannot be had leaves its place empty and its reason in {@code truncated}; the
 * rest of the record stands. Not thread-safe: one belongs to one record.
 */
final class RecordBuilder {

  static final int FORMAT_VERSION = 1;
  private static final String NO_SCANS = "\"scans\":[],\"writes\":[]";

  /** Room for what {@link #head} and the tables' names take. */
  private static final int HEAD_BYTES = 1_024;

  /** Which plans are taken. */
  enum Plans {
    /** The analyzed one, if it is there. */
    START,
    /** All that are there. */
    END,
    /** The analyzed and the optimized one, made now if they are not there (the user asked). */
    ASKED
  }

  private final AppFacts app;
  private final Limits limits;
  private String truncated;
  /** What went wrong with a plan, for the count of failures; null if nothing did. */
  private Throwable failure;

  RecordBuilder(AppFacts app, Limits limits) {
    this.app = app;
    this.limits = limits;
  }

  String truncated() {
    return truncated;
  }

  Throwable failure() {
    return failure;
  }

  /** The record but for its head, which the queue adds ({@link #head}). */
  String execution(Execution execution, QueryExecution query, Plans wanted, Clients.Client client) {
    LogicalPlan analyzed = query == null ? null : plan(query, "analysis", wanted);
    if (query != null) {
      describe(execution, query, analyzed, client);
    }
    StringBuilder out = new StringBuilder(8192);
    begin(out, "execution", wanted == Plans.END ? "END" : "START");
    execution.write(out, app.redactor);
    Json.key(out, "session").append(SessionFacts.withClient(execution.sessionJson, client));
    PlanEncoder encoder = new PlanEncoder(limits, app.redactor, out.length() + HEAD_BYTES);
    String first = analyzed == null ? "null" : encode(encoder, analyzed, "analyzed");
    String scans = query != null && wanted == Plans.END ? scans(encoder, query, execution) : NO_SCANS;
    String second = "null";
    // What cannot hold the analyzed plan is not filled with the one that says less.
    if (query != null && wanted != Plans.START && !first.equals("null")) {
      LogicalPlan optimized = plan(query, "optimization", wanted);
      second = optimized == null ? "null" : encode(encoder, optimized, "optimized");
    }
    if (encoder.writer().undescribed() != null) {
      truncate(encoder.writer().undescribed());
    }
    encoder.writeTables(out);
    Json.key(out, "plans").append("{\"analyzed\":").append(first);
    out.append(",\"optimized\":").append(second).append("},").append(scans);
    return out.append('}').toString();
  }

  /** The record of a job of RDDs, but for its head; {@code conf} is the session's. */
  String job(JobFacts job, Map<String, String> conf) {
    StringBuilder out = new StringBuilder(2048);
    begin(out, "job", job.endTime == null ? "START" : "END");
    job.write(out, app.redactor);
    if (job.tables == null) {
      job.tables = jobTables(job, conf, out.length());
      if (out.length() + job.tables.length() + HEAD_BYTES > limits.recordBytes) {
        job.cut = "sources left out: more than " + limits.recordBytes + " bytes";
        job.sources = SourceFacts.named(Collections.emptyList());
        job.tables = jobTables(job, conf, out.length());
      }
      job.sources = null;
    }
    if (job.cut != null) {
      truncate(job.cut);
    }
    return out.append(job.tables).append('}').toString();
  }

  /** The last members of a job, what it reads and writes among them, and of its record. */
  private String jobTables(JobFacts job, Map<String, String> conf, int length) {
    PlanEncoder encoder = new PlanEncoder(limits, app.redactor, length + HEAD_BYTES);
    ValueWriter writer = encoder.writer();
    job.sources.write(writer.begin("RDD"));
    writer.end();
    StringBuilder out = new StringBuilder(1024);
    out.append(",\"rdd\":").append(writer.out).append(",\"output\":");
    writer.out.setLength(0);
    if (job.output == null) {
      out.append("null");
    } else {
      writer.begin("Output").text("path", job.output.path).text("format", job.output.format).end();
      out.append(writer.out);
      writer.out.setLength(0);
    }
    out.append("},\"session\":{");
    Json.field(out, "conf", conf);
    out.append('}');
    encoder.writeTables(out);
    return out.toString();
  }

  /** The record of an application's start or end. */
  String application(String phase, Long exitCode, long time) {
    StringBuilder out = new StringBuilder(512);
    begin(out, "application", phase);
    if (phase.equals("END")) {
      Json.key(out, "outcome").append("{\"exitCode\":").append(exitCode);
      out.append(",\"time\":").append(time).append('}');
    }
    return out.append('}').toString();
  }

  private void begin(StringBuilder out, String kind, String phase) {
    Json.quote(out, "kind");
    out.append(':');
    Json.quote(out, kind);
    Json.field(out, "phase", phase);
    app.write(out);
  }

  /** What comes first in a record, once it is known. */
  static String head(long sequence, long nanos, Map<String, Long> dropped, String truncated) {
    StringBuilder out = new StringBuilder("{");
    Json.field(out, "formatVersion", FORMAT_VERSION);
    Json.field(out, "sequence", sequence);
    Json.key(out, "bridge").append('{');
    Json.field(out, "version", Version.TEXT);
    Json.field(out, "captureNanos", nanos);
    Json.numbers(out, "dropped", dropped);
    Json.field(out, "truncated", truncated);
    return out.append("},").toString();
  }

  private void describe(
      Execution execution, QueryExecution query, LogicalPlan analyzed, Clients.Client client) {
    try {
      if (execution.sessionJson == null) {
        Object session = SparkCompat.sessionOf(query);
        execution.sessionId = SessionFacts.id(session);
        execution.sessionJson = SessionFacts.json(session, app);
      }
      if (execution.sql == null) {
        String known = client != null && client.statement != null ? client.statement : null;
        String found =
            known == null
                ? ParsedFacts.sql(
                    query.logical(), analyzed, execution.description, execution.callSite)
                : known;
        execution.sql = Limits.cut(found, Limits.STATEMENT);
      }
      execution.mode = SparkCompat.text(query, "mode");
      if (execution.stars == null) {
        execution.stars = ParsedFacts.stars(query.logical());
      }
    } catch (Throwable e) {
      failed("session", e);
    }
  }

  /** A plan that the query has made already; on the bus thread nothing is made. */
  private LogicalPlan plan(QueryExecution query, String phase, Plans wanted) {
    try {
      if (wanted == Plans.ASKED || SparkCompat.finished(query, phase)) {
        return phase.equals("analysis") ? query.analyzed() : query.optimizedPlan();
      }
    } catch (Throwable e) {
      // Spark throws the error of the analysis again; that one is the job's, not ours.
      truncate(phase + ": " + e.getClass().getName());
    }
    return null;
  }

  private String encode(PlanEncoder encoder, Object plan, String which) {
    try {
      return String.valueOf(encoder.plan(plan));
    } catch (Limits.Exceeded e) {
      truncate(which + " plan left out: " + e.getMessage());
    } catch (Throwable e) {
      failed(which, e);
    }
    return "null";
  }

  private String scans(PlanEncoder encoder, QueryExecution query, Execution execution) {
    try {
      if (SparkCompat.finished(query, "planning")) {
        ScanFacts facts = new ScanFacts(encoder, execution, app.id);
        String scans = facts.json(query.executedPlan(), query.logical());
        encoder.reserve(scans.length());
        return scans;
      }
    } catch (Limits.Exceeded e) {
      truncate("scans left out: " + e.getMessage());
    } catch (Throwable e) {
      failed("scans", e);
    }
    return NO_SCANS;
  }

  private void failed(String where, Throwable e) {
    failure = e;
    truncate(where + ": " + e.getClass().getName());
  }

  private void truncate(String reason) {
    truncated = truncated == null ? reason : truncated + "; " + reason;
  }
}
