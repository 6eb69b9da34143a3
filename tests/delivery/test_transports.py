from __future__ import annotations

import json
import multiprocessing
import os

import pytest

from spark_lineage import config
from spark_lineage.delivery import transports
from spark_lineage.delivery.transports import file as file_module
from spark_lineage.delivery.transports import openlineage
from spark_lineage.delivery.transports.console import ConsoleTransport, NoTransport
from spark_lineage.delivery.transports.file import FileTransport
from spark_lineage.delivery.transports.http import HttpTransport
from spark_lineage.delivery.transports.library import LibraryTransport
from spark_lineage.errors import ConfigError, RetriableError
from spark_lineage.openlineage.events import EventBuilder
from tests.delivery.doubles import event
from tests.openlineage.samples import SUMMARY_LINEAGE, run
from tests.support.python import run_python

SECRET = "s3cr3t-w0rd"


@pytest.fixture(autouse=True)
def no_configuration(tmp_path, monkeypatch):
    """No `openlineage.yml` of the machine is found."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def created(environ=None, **options):
    settings = config.load({}, {}, options)
    transport = transports.create(settings, {"HOME": os.environ["HOME"], **(environ or {})})
    transport.close()
    return transport


def single(section):
    (target,) = openlineage.targets(section, 5.0)
    assert target.name == ""
    return target.transport


def test_default_is_the_local_collector():
    assert created().description == "http://localhost:8765/api/v1/lineage"


@pytest.mark.parametrize(
    ("url", "endpoint", "address"),
    [
        ("http://h:1", "api/v1/lineage", "http://h:1/api/v1/lineage"),
        ("http://h:1/", "/api/v1/lineage", "http://h:1/api/v1/lineage"),
        ("https://h/prefix", "take", "https://h/prefix/take"),
    ],
)
def test_http_by_url(url, endpoint, address):
    transport = created(transport_url=url, transport_endpoint=endpoint)
    assert isinstance(transport, HttpTransport)
    assert transport.description == address


def test_api_key_is_sent(http_target):
    settings = config.load({}, {}, {"transport_url": http_target.url, "transport_api_key": SECRET})
    transport = transports.create(settings, {})
    transport.send(event(1))
    transport.close()
    assert http_target.requests[0][1]["Authorization"] == f"Bearer {SECRET}"


def test_file_and_console(tmp_path):
    assert isinstance(created(transport_type="console"), ConsoleTransport)
    path = tmp_path / "events.jsonl"
    transport = created(transport_type="file", transport_path=str(path))
    assert isinstance(transport, FileTransport)
    assert transport.description == f"file {path}"


def test_describe_shows_no_credentials():
    settings = config.load({}, {}, {"transport_url": f"http://ann:{SECRET}@h:1"})
    assert transports.describe(settings, {}) == "http://h:1/api/v1/lineage"


# --- OpenLineage's own configuration


def test_openlineage_url(http_target):
    environ = {"OPENLINEAGE_URL": http_target.url + "/", "OPENLINEAGE_API_KEY": SECRET}
    transport = transports.create(config.load({}, {}), environ)
    transport.send(event(1))
    transport.close()
    (path, headers, _) = http_target.requests[0]
    assert (path, headers["Authorization"]) == ("/api/v1/lineage", f"Bearer {SECRET}")


def test_our_url_wins_over_openlineages():
    transport = created({"OPENLINEAGE_URL": "http://other:1"}, transport_url="http://ours:2")
    assert transport.description == "http://ours:2/api/v1/lineage"


def test_openlineage_yaml(tmp_path, http_target):
    path = tmp_path / "mine.yml"
    path.write_text(
        f"""
transport:
  type: http
  url: {http_target.url}
  endpoint: take/it
  compression: gzip
  custom_headers: {{X-Team: data}}
  auth: {{type: api_key, apiKey: {SECRET}}}
"""
    )
    transport = transports.create(config.load({}, {}), {"OPENLINEAGE_CONFIG": str(path)})
    transport.send(event(1))
    transport.close()
    (sent_to, headers, _) = http_target.requests[0]
    assert sent_to == "/take/it"
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert (headers["Content-Encoding"], headers["X-Team"]) == ("gzip", "data")


@pytest.mark.parametrize("place", ["openlineage.yml", "home/.openlineage/openlineage.yml"])
def test_yaml_where_openlineage_looks(tmp_path, place):
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("transport: {type: console}")
    assert isinstance(created(), ConsoleTransport)


def test_broken_yaml_is_a_config_error(tmp_path):
    (tmp_path / "openlineage.yml").write_text("transport: [")
    with pytest.raises(ConfigError, match="a YAML file"):
        created()


def test_dynamic_environment_is_below_the_file(tmp_path):
    environ = {
        "OPENLINEAGE__TRANSPORT__TYPE": "http",
        "OPENLINEAGE__TRANSPORT__URL": "http://env:1",
        "OPENLINEAGE__TRANSPORT__AUTH": '{"type": "api_key", "apiKey": "k"}',
        "OPENLINEAGE__FACETS__X": "y",
    }
    assert openlineage.discover(environ | {"HOME": "/nowhere"}) == {
        "type": "http",
        "url": "http://env:1",
        "auth": {"type": "api_key", "apiKey": "k"},
    }
    (tmp_path / "openlineage.yml").write_text("transport: {url: 'http://file:2'}")
    assert created(environ).description == "http://file:2/api/v1/lineage"


def test_disabled():
    assert isinstance(created({"OPENLINEAGE_DISABLED": "true"}), NoTransport)


def test_nothing_configured_is_none():
    assert openlineage.discover({"HOME": "/nowhere"}) is None


@pytest.mark.parametrize(
    ("section", "key"),
    [
        ({"type": "http"}, "transport.url"),
        ({"type": "http", "url": "http://h", "auth": {"type": "api_key"}}, "auth.apiKey"),
        ({"type": "http", "url": "http://h", "auth": {"type": "jwt"}}, "transport.auth"),
        ({"type": "no.such.Transport"}, "transport.type"),
    ],
)
def test_wrong_section_is_a_config_error(section, key):
    with pytest.raises(ConfigError, match=key):
        single(section)


def test_token_providers_of_the_library_are_used(http_target):
    section = {
        "type": "http",
        "url": http_target.url,
        "auth": {"type": "jwt", "apiKey": SECRET, "tokenEndpoint": http_target.url + "/token"},
    }
    transport = single(section)
    # The endpoint answers 201 without a token: no credentials, now.
    with pytest.raises(RetriableError, match="no credentials"):
        transport.send(event(1))
    transport.close()
    assert [path for path, _, _ in http_target.requests] == ["/token"]


def test_a_file_that_is_appended_to_is_ours(tmp_path):
    section = {"type": "file", "log_file_path": str(tmp_path / "x"), "append": True}
    assert isinstance(single(section), FileTransport)


def test_other_transports_go_through_the_library(tmp_path):
    told = EventBuilder().end(run(), SUMMARY_LINEAGE, "COMPLETE")
    transport = single({"type": "file", "log_file_path": str(tmp_path / "ol"), "append": False})
    assert isinstance(transport, LibraryTransport)
    transport.send(told)
    transport.close()
    (path,) = tmp_path.glob("ol-*.json")
    written = json.loads(path.read_text())
    assert written == told


def test_what_the_library_raises_is_retriable(tmp_path):
    (tmp_path / "plain").touch()
    section = {"type": "file", "log_file_path": str(tmp_path / "plain" / "x"), "append": False}
    transport = single(section)
    with pytest.raises(RetriableError, match="NotADirectoryError"):
        transport.send(EventBuilder().start(run(), None))


# --- file


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_one_event_a_line(tmp_path):
    path = tmp_path / "deep" / "events.jsonl"
    transport = FileTransport(str(path))
    transport.send(event(1, text="a\nb ü"))
    transport.send(event(2))
    assert lines(path) == [event(1, text="a\nb ü"), event(2)]


def test_a_torn_line_of_another_writer_is_ended(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text('{"torn": ')
    FileTransport(str(path)).send(event(1))
    assert path.read_text().splitlines()[1] == json.dumps(event(1), separators=(",", ":"))


def test_a_part_that_fits_is_taken_back(tmp_path, monkeypatch):
    path = tmp_path / "events.jsonl"
    transport = FileTransport(str(path))
    transport.send(event(1))
    real = os.write
    monkeypatch.setattr(file_module.os, "write", lambda file, data: real(file, data[:10]))
    with pytest.raises(RetriableError, match="only 10 of"):
        transport.send(event(2))
    monkeypatch.setattr(file_module.os, "write", real)
    transport.send(event(2))
    assert lines(path) == [event(1), event(2)]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_retriable():
    with pytest.raises(RetriableError, match="No space left"):
        FileTransport("/dev/full").send(event(1))


def test_a_directory_in_its_place_is_retriable(tmp_path):
    with pytest.raises(RetriableError, match="directory"):
        FileTransport(str(tmp_path)).send(event(1))


def append_many(path, start):
    transport = FileTransport(path)
    for number in range(start, start + 200):
        transport.send(event(number, text="x" * 5000))


def test_many_processes_append_whole_lines(tmp_path):
    path = tmp_path / "events.jsonl"
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=append_many, args=(str(path), start)) for start in (0, 1000, 2000)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found = [told["number"] for told in lines(path)]
    for start in (0, 1000, 2000):
        assert [n for n in found if start <= n < start + 200] == list(range(start, start + 200))


# --- console


def test_console_goes_to_stderr(capsys):
    transport = ConsoleTransport()
    transport.send(event(1))
    transport.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err) == event(1)


def test_importing_delivery_imports_neither_requests_nor_openlineage():
    code = (
        "import sys, spark_lineage.delivery.worker, spark_lineage.delivery.transports\n"
        "print([m for m in ('requests', 'openlineage', 'yaml') if m in sys.modules])"
    )
    done = run_python(code)
    assert done.stdout.strip() == "[]", done.stderr
