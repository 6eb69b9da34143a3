"""The faults, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.faults import actions
from tests.faults.script import EVENTS, MEET, Parts

LISTENER = "io.sparklineage.LineageListener"

HUNDRED = """
    for number in range(100):
        spark.range(number + 1).write.mode("overwrite").parquet("many")
    print("written", flush=True)
"""
LARGE = """
    jvm = spark._jvm
    numbers = jvm.java.util.stream.LongStream.range(0, 1000000).boxed()
    many = numbers.collect(jvm.java.util.stream.Collectors.toList())
    from pyspark.sql import DataFrame
    frame = spark.range(10)
    chosen = getattr(jvm.org.apache.spark.sql.functions, "col")("id").isInCollection(many)
    print("large", DataFrame(frame._jdf.filter(chosen), spark).count(), flush=True)
"""
FAULTY = """
    for _ in range({times}):
        spark.read.format("Faulty").option("error", os.environ["FAULT"]).load().collect()
"""
STOP = """
    open("stopping", "w").close()
    spark.stop()
"""
POISON = """
    spark.range(5).write.parquet("poison")
"""
FIVE_HUNDRED = """
    for number in range(500):
        spark.sql("SELECT one FROM VALUES (1) AS t(one)").collect()
    meet()
"""


@dataclass(frozen=True)
class Fault:
    """One fault, and what must come of it.

    ``events``: all events that the run would send without it; None: what was not
    yet told is gone with the process. ``lost``: how many of them may be gone for
    good, each counted under the reason ``counted``. ``at_once``: so many are there
    before anything is replayed; ``waits``: so many are not. ``repeats``: so many may
    come a second time, where the answer to a post can be lost. ``refused``: whether the
    replay sends refused events again. ``says``: a text of the driver's log.
    ``alone_too``: whether ``during`` is done to the job without lineage as well.
    """

    name: str
    collector: str = "healthy"
    parts: Parts = field(default_factory=Parts)
    conf: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    during: Callable[[actions.Running], None] | None = None
    host: str = "plugin"
    events: int | None = EVENTS
    at_once: int = 0
    waits: int = 0
    repeats: int = 0
    lost: int = 0
    counted: str = ""
    refused: bool = False
    alone_too: bool = False
    prepare: str = ""
    says: str = ""


MEETS = Parts(during=MEET)

FAULTS = [
    Fault("none"),
    # The collector.
    Fault("collector absent", "absent", says="cannot be delivered"),
    Fault("collector refuses", "refuses", says="cannot be delivered"),
    Fault("collector never answers", "black hole"),
    Fault("collector answers 500", "500"),
    Fault("collector answers 503 with Retry-After", "503"),
    Fault("collector answers 401", "401"),
    Fault("collector answers 413", "413", refused=True),
    Fault("collector answers 422", "422", refused=True),
    Fault("collector answers garbage", "garbage"),
    Fault("collector redirects", "redirect"),
    Fault("collector answers byte by byte", "byte by byte"),
    Fault("collector dies in the middle of a post", "dies", repeats=EVENTS),
    Fault(
        "collector comes back after an outage with 1,000 events waiting",
        "ours",
        Parts(during=FIVE_HUNDRED),
        during=actions.start_collector,
        events=EVENTS + 1_000,
    ),
    Fault(
        "collector fails at the events of one job",
        "poisoned",
        Parts(during=POISON),
        {"spark.lineage.shutdown.timeout": "30s"},
        events=EVENTS + 2,
        at_once=EVENTS,
        # Those of the one job, when they are replayed.
        repeats=2,
        refused=True,
    ),
    Fault("its name is not found", "no name"),
    Fault("its certificate is wrong", "wrong certificate"),
    # The spool.
    Fault("disk full for the spool", prepare="small files"),
    Fault("spool directory cannot be written", prepare="spool is a file"),
    Fault("spool directory gone", "500", MEETS, during=actions.remove_spool),
    Fault("spool file corrupted", "500", MEETS, during=actions.corrupt_spool, lost=EVENTS,
          counted="spool_corrupted"),
    Fault("no writable home", prepare="no home"),
    # The sidecar.
    Fault("sidecar killed", parts=MEETS, during=actions.kill_sidecar,
          repeats=EVENTS),
    Fault("sidecar killed twice", parts=MEETS, during=actions.kill_sidecar_twice,
          repeats=EVENTS),
    Fault("sidecar hangs", parts=MEETS, during=actions.stop_sidecar,
          repeats=EVENTS),
    Fault("sidecar above its memory limit", conf={"spark.lineage.agent.memory": "1m"},
          repeats=EVENTS),
    Fault("clock jumps back", prepare="clock"),
    Fault(
        "agent fails at one run",
        parts=Parts(during=POISON),
        prepare="poisoned agent",
        events=EVENTS + 2,
        at_once=EVENTS + 2,
    ),
    # The driver.
    Fault("driver killed", parts=MEETS, during=actions.kill_driver, events=None,
          alone_too=True),
    Fault("os._exit", parts=Parts(end="os._exit(7)"), events=None),
    Fault("os._exit with enable()", parts=Parts(end="os._exit(7)"), host="enable", events=None),
    Fault("exception in the script", parts=Parts(end="raise ValueError('by the script')")),
    Fault(
        "exception in the script with enable()",
        parts=Parts(end="raise ValueError('by the script')"),
        host="enable",
    ),
    Fault("sys.exit(3)", parts=Parts(end="sys.exit(3)")),
    Fault(
        "spark.stop() while 100 queries wait",
        parts=Parts(during=MEET, end=HUNDRED + STOP),
        during=actions.hold_sidecar_until_stop,
        events=EVENTS + 200,
    ),
    Fault(
        "two contexts in a row",
        parts=Parts(
            end="""
                spark.stop()
                spark = SparkSession.builder.appName("second").getOrCreate()
                print("second", job(spark, "again").count())
            """
        ),
        events=2 * EVENTS,
    ),
    Fault(
        "two contexts in a row with enable()",
        parts=Parts(
            end="""
                spark.stop()
                spark = SparkSession.builder.appName("second").getOrCreate()
                import importlib.util
                if "spark_lineage" in sys.modules:
                    sys.modules["spark_lineage"].enable(spark)
                print("second", job(spark, "again").count())
            """
        ),
        host="enable",
        events=2 * EVENTS,
    ),
    Fault("script with stop()", parts=Parts(end="spark.stop()")),
    Fault(
        "fork in the driver",
        parts=Parts(
            during="""
                child = os.fork()
                if child == 0:
                    os._exit(0)
                print("child", os.waitpid(child, 0)[1])
            """
        ),
        host="enable",
    ),
    Fault(
        "multiprocessing in the driver",
        parts=Parts(
            during="""
                import multiprocessing
                for method in ("fork", "spawn"):
                    with multiprocessing.get_context(method).Pool(2) as pool:
                        print("pool", pool.map(abs, [-1, 2, -3]))
            """
        ),
        host="enable",
    ),
    Fault(
        "no thread can be started at exit (Python 3.12)",
        parts=Parts(
            end="""
                import atexit, threading
                def refuse(*_, **__):
                    raise RuntimeError("can't create new thread at interpreter shutdown")
                atexit.register(setattr, threading, "_start_new_thread", refuse)
            """
        ),
        host="enable",
    ),
    Fault("Python 3.12 or later", host="enable", prepare="newer Python"),
    # Records.
    Fault("record too large", conf={"spark.lineage.record.bytes": "8k"}),
    Fault(
        "queue full",
        parts=Parts(during=MEET, end=HUNDRED),
        conf={"spark.lineage.queue.records": "20", "spark.lineage.shutdown.timeout": "2s"},
        during=actions.stop_sidecar,
        events=EVENTS + 200,
        repeats=EVENTS,
        lost=200,
        counted="queue.records",
    ),
    Fault(
        "listener bus overflows",
        parts=Parts(end=HUNDRED),
        conf={"spark.scheduler.listenerbus.eventqueue.spark-lineage.capacity": "1"},
        events=EVENTS + 200,
        lost=EVENTS + 200,
        counted="bus.events",
    ),
    Fault(
        "plan of a million nodes",
        parts=Parts(during=LARGE),
        conf={"spark.driver.memory": "3g"},
        events=EVENTS + 2,
    ),
    *(
        Fault(
            f"{error} in the encoder",
            parts=Parts(during=FAULTY.format(times=1)),
            environment={"FAULT": error},
            prepare="faulty source",
            events=EVENTS + 2,
        )
        for error in (
            "StackOverflowError",
            "OutOfMemoryError",
            "NoSuchMethodError",
            "NoClassDefFoundError",
        )
    ),
    Fault(
        "five failures in a row",
        parts=Parts(during=FAULTY.format(times=5)),
        environment={"FAULT": "OutOfMemoryError"},
        prepare="faulty source",
        events=EVENTS + 10,
        lost=6,
        counted="switched.off",
        says="switched off",
    ),
    # Set-up.
    Fault(
        "plugin, listener and enable() together",
        conf={"spark.sql.queryExecutionListeners": LISTENER},
        host="both",
    ),
    Fault("jar of another version", prepare="other jar", events=None, waits=EVENTS,
          says="format version"),
    Fault("malformed setting", conf={"spark.lineage.queue.bytes": "lots"}, events=0,
          says="spark.lineage.queue.bytes"),
    Fault("unknown setting", conf={"spark.lineage.colour": "red"}, events=0,
          says="spark.lineage.colour"),
    Fault("no python at all", conf={"spark.lineage.python": "/no/such/python"}),
]  # fmt: skip
