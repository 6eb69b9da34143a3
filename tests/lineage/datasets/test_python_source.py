"""A V2 source that no rule knows: one written in Python, as Spark 4 runs them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lineage.bench import Bench, edges
from tests.lineage.datasets.conftest import Ended

pytestmark = pytest.mark.spark


@pytest.fixture
def acme(bench: Bench) -> Any:
    if bench.version < (4, 0):
        pytest.skip("Python data sources came with Spark 4.0")
    pytest.importorskip("pyarrow")
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceReader,
        DataSourceWriter,
        WriterCommitMessage,
    )

    class Reader(DataSourceReader):
        def read(self, partition: Any) -> Any:
            yield (1,)

    class Writer(DataSourceWriter):
        def write(self, iterator: Any) -> Any:
            return WriterCommitMessage()

        def commit(self, messages: Any) -> None:
            pass

        def abort(self, messages: Any) -> None:
            pass

    class Acme(DataSource):
        @classmethod
        def name(cls) -> str:
            return "acme"

        def schema(self) -> str:
            return "a INT"

        def reader(self, schema: Any) -> Any:
            return Reader()

        def writer(self, schema: Any, overwrite: bool) -> Any:
            return Writer()

    bench.spark.dataSource.register(Acme)
    return bench.spark


def test_it_is_read_and_written_by_the_names_in_its_options(acme: Any, ended: Ended) -> None:
    reader = acme.read.format("acme").option("url", "https://u:s3cret@H1:8443/api")
    lineage = ended.lineage(lambda: reader.option("table", "orders").load().collect())
    (read,) = [item.dataset for item in lineage.inputs]
    assert (read.namespace, read.name) == ("acme://h1:8443", "orders")
    assert edges(lineage)[0] == {("a", "IDENTITY", "orders.a")}
    frame = acme.range(1).selectExpr("CAST(id AS INT) AS a")
    writer = frame.write.format("acme").mode("append").option("table", "sink")
    lineage = ended.lineage(writer.save)
    assert [(o.dataset.namespace, o.dataset.name) for o in lineage.outputs if o.dataset] == [
        ("acme", "sink")
    ]


def test_without_such_options_it_goes_by_its_own_name(acme: Any, ended: Ended) -> None:
    lineage = ended.lineage(lambda: acme.read.format("acme").load().collect())
    (read,) = [item.dataset for item in lineage.inputs]
    assert (read.namespace, read.name) == ("spark", "acme")
