"""A search by the index over parts of names finds what a look at each name finds."""

from __future__ import annotations

import random

import pytest

from spark_lineage.collector import questions
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store import schema, trigrams
from tests.collector.build import take, writes

TABLES = ("sales.orders", "Sales.Orders_raw", "ü.Straße", 'q"uo.te', "a%b_c", "日本語.表", "ord")


@pytest.fixture
def searched(collector: Collector) -> Collector:
    for number, table in enumerate(TABLES):
        made = {name: [f"IDENTITY {table}.order_id"] for name in ("order_id", "Betrag_€", "x" * 90)}
        take(collector, writes(f"out_{table}", made, run=number + 1))
    return collector


def test_the_index_changes_nothing(searched: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    texts = ["", "or", "ORD", "order", 'o"', "rag_€", "stra", "STRASS", "本語.", "%b_", "x" * 80]
    if searched.database.sqlite:
        texts.append("or\0der")
    names = [*TABLES, "order_id", "make_out_sales.orders", "Betrag_€"]
    for name in names:
        place = chance.randrange(len(name))
        texts += [name, name.upper(), name[place : place + 4], name[place:]]
    found = [searched.ask(questions.search, text, 50) for text in texts]
    assert sum(len(one["results"]) for one in found) > 200
    monkeypatch.setattr(trigrams, "fits", lambda *_: None)
    assert found == [searched.ask(questions.search, text, 50) for text in texts]


def test_there_is_an_index(collector: Collector) -> None:
    with collector.database.read() as connection:
        if collector.database.sqlite:
            for table in (schema.names, schema.columns, schema.jobs):
                assert trigrams.fits(connection, table, "abc") is not None
        else:
            query = r"SELECT count(*) FROM pg_indexes WHERE indexname LIKE '%%\_trigrams'"
            assert connection.exec_driver_sql(query).scalar() == 3


def test_one_that_is_made_later_has_what_was_there(searched: Collector) -> None:
    if not searched.database.sqlite:
        pytest.skip("PostgreSQL fills an index when it is made")
    before = searched.ask(questions.search, "order", 50)
    with searched.database.write() as connection:
        for table in ("names", "columns", "jobs"):
            for trigger in ("new", "gone"):
                connection.exec_driver_sql(f"DROP TRIGGER {table}_trigrams_{trigger}")
            connection.exec_driver_sql(f"DROP TABLE {table}_trigrams")
        trigrams.prepare(connection)
    assert searched.ask(questions.search, "order", 50) == before
    assert before["results"]
