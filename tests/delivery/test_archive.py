"""A copy of what is not delivered at the end: in a directory, in memory, on an S3 server."""

from __future__ import annotations

import importlib
import importlib.util
import json
import stat
import threading
import time

import pytest

from spark_lineage import config
from spark_lineage.delivery import archive as module
from spark_lineage.delivery import transports
from spark_lineage.delivery.archive import Archive, describe, place, restore
from spark_lineage.delivery.dispatch import Delivery
from spark_lineage.delivery.spool import Spool
from spark_lineage.delivery.transports import Target as Named
from spark_lineage.errors import ConfigError, RejectedError, RetriableError
from tests.conftest import missing
from tests.delivery.doubles import Target, event, numbers

LONG = 60.0
SECRET = "s3cr3t-w0rd"


def fsspec():
    if importlib.util.find_spec("fsspec") is None:
        missing("fsspec")
    return importlib.import_module("fsspec")


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "deep" / "archive")


@pytest.fixture
def memory():
    fsspec()
    from fsspec.implementations.memory import MemoryFileSystem

    yield "memory://lineage/archive"
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture(scope="module")
def s3_server():
    for part in ("s3fs", "moto", "flask"):
        if importlib.util.find_spec(part) is None:
            missing(part)
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server, monkeypatch):
    import boto3
    import s3fs

    for name, value in {
        "AWS_ENDPOINT_URL": s3_server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/nowhere",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="lineage")
    client.close()
    yield "s3://lineage/archive"
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def target(monkeypatch):
    made = Target()
    made.always = RetriableError("refused")
    monkeypatch.setattr(transports, "targets", lambda *_: [Named("", made)])
    return made


def ended(tmp_path, url, *events, timeout=20.0):
    """An application that could not deliver its events."""
    options = {"spool_dir": str(tmp_path / "spool"), "spool_archive": url}
    delivery = Delivery(config.load({}, {}, options), "app", {})
    delivery.start()
    delivery.put(list(events))
    delivery.wake()
    return delivery, delivery.close(timeout)


def restored(url):
    found = []
    count = restore(url, lambda name, events: found.extend((name, e) for e in events))
    assert count == len(found)
    return found


@pytest.mark.parametrize("kind", ["directory", "memory", "s3"])
def test_what_is_undelivered_is_copied_and_can_be_taken_back(kind, request, tmp_path, target):
    url = request.getfixturevalue(kind)
    events = [event(number, text="a\nb ü") for number in range(450)]
    _, done = ended(tmp_path, url, *events, timeout=6.0 if kind == "s3" else 2.5)
    assert done is False
    (name,) = place(url).names()
    assert name.startswith("events-app.")
    assert name.endswith(".jsonl")
    assert restored(url) == [("", told) for told in events]
    assert place(url).names() == []
    # The copy is one: what is on this machine's disk stays there too.
    (path,) = (p for p in (tmp_path / "spool").iterdir() if p.suffix == ".db")
    assert path.name == "events-app.db"


def test_what_was_delivered_is_not_copied(directory, tmp_path, target):
    target.always = None
    _, done = ended(tmp_path, directory, event(1))
    assert done is True
    assert place(directory).names() == []


def test_dead_letters_are_copied_for_people(directory, tmp_path, target):
    target.always = RejectedError("HTTP 422", "field x")
    ended(tmp_path, directory, event(1))
    (name,) = place(directory).names()
    assert name.endswith(".dead-letters")
    (line,) = place(directory).read(name)
    assert json.loads(line) == {"reason": "HTTP 422", "answer": "field x", "event": event(1)}
    assert restored(directory) == []
    assert place(directory).names() == [name]


def test_the_name_of_the_target_stays(directory, tmp_path, monkeypatch):
    made = {"a": Target(), "b": Target()}
    made["a"].always = RetriableError("refused")
    monkeypatch.setattr(
        transports, "targets", lambda *_: [Named(name, made[name]) for name in made]
    )
    ended(tmp_path, directory, event(1), timeout=1.5)
    assert restored(directory) == [("a", event(1))]


def test_files_are_private_and_whole(directory, tmp_path, target):
    ended(tmp_path, directory, event(1), timeout=1.5)
    (path,) = (tmp_path / "deep" / "archive").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_place_that_hangs_holds_nobody_past_the_deadline(tmp_path, target, monkeypatch, caplog):
    gate = threading.Event()

    class Hanging:
        def write(self, name, lines):
            gate.wait(LONG)

    monkeypatch.setattr(module, "place", lambda url: Hanging())
    began = time.monotonic()
    ended(tmp_path, f"s3://ann:{SECRET}@bucket/x", event(1), timeout=1.0)
    assert time.monotonic() - began < LONG / 2
    gate.set()
    assert "s3://bucket/x did not take lineage events in time" in caplog.text
    assert SECRET not in caplog.text


def test_a_place_that_fails_is_said(tmp_path, target, monkeypatch, caplog):
    class Full:
        def write(self, name, lines):
            raise OSError("no space left on device")

    monkeypatch.setattr(module, "place", lambda url: Full())
    ended(tmp_path, "s3://bucket/x", event(1), timeout=1.5)
    assert "s3://bucket/x takes no lineage events (OSError: no space left" in caplog.text


def test_a_place_that_cannot_be_is_said_at_the_start(tmp_path, target, caplog):
    fsspec()
    ended(tmp_path, f"nosuch://ann:{SECRET}@x/y", event(1), timeout=1.5)
    assert "no archive of undelivered lineage events: spark.lineage.spool.archive" in caplog.text
    assert SECRET not in caplog.text


def test_fsspec_is_asked_for_by_name(monkeypatch):
    real = importlib.import_module

    def without(name, *rest):
        if name.startswith("fsspec"):
            raise ImportError("No module named 'fsspec'")
        return real(name, *rest)

    monkeypatch.setattr(module.importlib, "import_module", without)
    with pytest.raises(ConfigError, match="fsspec"):
        place("s3://bucket/x")
    assert place("/tmp").names() is not None


def test_without_a_thread_nothing_is_copied_and_that_is_said(tmp_path, directory, caplog):
    spool = Spool(tmp_path / "spool", "app")
    spool.put([event(1)])
    assert Archive(directory).copy([spool], 1.0) is False
    assert "are not in" in caplog.text
    spool.close()


def test_a_file_that_is_no_archive_is_left_alone(tmp_path, directory):
    there = place(directory)
    there.write("notes.jsonl", ["mine"])
    there.write("events-app.x.jsonl", [json.dumps(event(1)), json.dumps(event(2))])
    assert numbers([told for _, told in restored(directory)]) == [1, 2]
    assert there.names() == ["notes.jsonl"]
    assert restored(f"file://{directory}") == []
    assert restored(str(tmp_path / "nowhere")) == []


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("/a/b", "/a/b"),
        (f"s3://key:{SECRET}@bucket/x?token={SECRET}", "s3://bucket/x"),
        ("memory://x/y", "memory://x/y"),
    ],
)
def test_urls_are_shown_without_credentials(url, shown):
    assert describe(url) == shown
