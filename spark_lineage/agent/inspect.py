"""The lineage of one DataFrame or statement, without running anything."""

from __future__ import annotations

from typing import Any

from spark_lineage import config
from spark_lineage.agent.link import CONNECT_HINT, check_version, connect, context_of
from spark_lineage.agent.runs import lineage_options
from spark_lineage.agent.session import active_session
from spark_lineage.errors import BridgeError
from spark_lineage.lineage.derive import derive
from spark_lineage.lineage.model import Lineage
from spark_lineage.plan.decode import decode


def lineage_of(df_or_sql: Any, spark: Any) -> Lineage:
    """See :func:`spark_lineage.lineage_of`."""
    if type(df_or_sql).__module__.startswith("pyspark.sql.connect"):
        raise BridgeError(CONNECT_HINT)
    if isinstance(df_or_sql, str):
        session = active_session(spark)
    elif hasattr(df_or_sql, "_jdf"):
        session = df_or_sql.sparkSession
    else:
        raise TypeError(
            f"lineage_of takes a DataFrame or a SQL statement, not {type(df_or_sql).__name__}"
        )
    context = context_of(session)
    settings = config.load(dict(context.getConf().getAll()))
    link = connect(context)
    if isinstance(df_or_sql, str):
        record = link.analyze(session._jsparkSession, df_or_sql)
    else:
        record = link.encode(df_or_sql._jdf.queryExecution())
    check_version(record)
    return derive(decode(record), lineage_options(settings))
