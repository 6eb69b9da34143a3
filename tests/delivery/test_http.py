from __future__ import annotations

import base64
import gzip
import json
import socket
import ssl
import threading
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
import trustme

from spark_lineage.delivery.spool import Spool
from spark_lineage.delivery.transports.base import UnsettledError
from spark_lineage.delivery.transports.http import HttpTransport, retry_after
from spark_lineage.delivery.transports.tokens import Authorization, Provided
from spark_lineage.delivery.worker import Worker
from spark_lineage.errors import RejectedError, RetriableError
from tests.delivery.conftest import reply
from tests.delivery.doubles import event
from tests.support.ports import free_port

PATH = "/api/v1/lineage"
SECRET = "s3cr3t-w0rd"


@pytest.fixture
def transport(http_target):
    made = HttpTransport(http_target.url + PATH, timeout=5.0)
    yield made
    made.close()


@pytest.fixture
def hasty(http_target):
    """One that waits but half a second."""
    made = HttpTransport(http_target.url + PATH, timeout=0.5)
    yield made
    made.close()


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_taken(http_target, transport, status):
    http_target.answers = [status]
    transport.send(event(1))
    (path, headers, body) = http_target.requests[0]
    assert path == PATH
    assert headers["Content-Type"] == "application/json"
    assert headers["User-Agent"].startswith("spark-lineage/")
    assert "Authorization" not in headers
    assert json.loads(body) == event(1)


BUSY = [408, 425, 429, 503]


@pytest.mark.parametrize("status", [*BUSY, 500, 502, 504, 507])
def test_later_it_may_work(http_target, transport, status):
    http_target.answers = [status]
    with pytest.raises(RetriableError, match=f"HTTP {status}") as caught:
        transport.send(event(1))
    assert caught.value.retry_after is None
    # One that is busy says nothing of this event; any other may be about it.
    assert isinstance(caught.value, UnsettledError) == (status not in BUSY)
    assert len(http_target.requests) == 1  # no retry of its own


@pytest.mark.parametrize("status", [401, 403, 404, 405, 407, 421])
def test_a_wrong_address_or_key_holds_the_event_until_it_is_right(http_target, transport, status):
    http_target.answers = [status, 201]
    with pytest.raises(UnsettledError, match=f"HTTP {status}"):
        transport.send(event(1))
    transport.send(event(1))


@pytest.mark.parametrize("status", [400, 406, 410, 413, 415, 422])
def test_never_will(http_target, transport, status):
    http_target.answers = [lambda handler: reply(handler, status, body=b'{"error": "field x"}')]
    with pytest.raises(RejectedError, match=f"HTTP {status}") as caught:
        transport.send(event(1))
    assert caught.value.answer == '{"error": "field x"}'


def test_a_long_answer_is_capped(http_target, transport):
    http_target.answers = [lambda handler: reply(handler, 422, body=b"x" * 1_000_000)]
    with pytest.raises(RejectedError) as caught:
        transport.send(event(1))
    assert caught.value.answer == "x" * 2_000


def test_retry_after_travels_with_the_error(http_target, transport):
    http_target.answers = [lambda handler: reply(handler, 503, {"Retry-After": "17"})]
    with pytest.raises(RetriableError) as caught:
        transport.send(event(1))
    assert caught.value.retry_after == 17.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(None, None), ("", None), ("3", 3.0), (" 0 ", 0.0), ("999999", 3600.0), ("soon", None)],
)
def test_retry_after_in_seconds(value, seconds):
    assert retry_after(value) == seconds


def test_retry_after_as_a_date():
    now = datetime.now(timezone.utc)
    later = retry_after(format_datetime(now + timedelta(seconds=100), usegmt=True))
    assert later is not None
    assert 50 < later <= 100
    assert retry_after(format_datetime(now - timedelta(hours=1), usegmt=True)) == 0.0


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(http_target, transport, status):
    location = f"http://user:{SECRET}@elsewhere.example/login?token={SECRET}"
    http_target.answers = [lambda handler: reply(handler, status, {"Location": location})]
    with pytest.raises(UnsettledError, match="redirects are not followed") as caught:
        transport.send(event(1))
    assert str(caught.value).endswith("(to http://elsewhere.example/login)")
    assert len(http_target.requests) == 1


def test_nobody_listens():
    transport = HttpTransport(f"http://127.0.0.1:{free_port()}{PATH}", timeout=5.0)
    with pytest.raises(RetriableError, match="Connection refused"):
        transport.send(event(1))
    transport.close()


def test_unknown_host():
    transport = HttpTransport(f"http://no-such-host.invalid{PATH}", timeout=5.0)
    with pytest.raises(RetriableError):
        transport.send(event(1))
    transport.close()


def test_black_hole_ends_at_the_timeout(http_target, hasty):
    http_target.answers = [lambda handler: http_target.released.wait(60)]
    began = time.monotonic()
    with pytest.raises(RetriableError):
        hasty.send(event(1))
    assert time.monotonic() - began < 20


def drip(http_target, first: bytes):
    """Answers `first` at once and then a byte each 50 ms, for a minute: no read times out."""

    def answer(handler):
        handler.close_connection = True
        handler.wfile.write(first)
        for _ in range(1200):
            handler.wfile.write(b"x")
            handler.wfile.flush()
            if http_target.released.wait(0.05):
                break

    return answer


@pytest.mark.parametrize(
    "first", [b"", b"HTTP/1.1 201 Created\r\nX-Slow: "], ids=["status", "headers"]
)
def test_slow_bytes_end_at_the_timeout(http_target, hasty, first):
    http_target.answers = [drip(http_target, first)]
    began = time.monotonic()
    with pytest.raises(RetriableError):
        hasty.send(event(1))
    assert time.monotonic() - began < 20


def test_a_slow_body_of_a_success_is_a_success(http_target, hasty):
    head = b"HTTP/1.1 201 Created\r\nContent-Length: 5000\r\n\r\n"
    http_target.answers = [drip(http_target, head)]
    began = time.monotonic()
    hasty.send(event(1))
    assert time.monotonic() - began < 20


def test_the_callers_deadline_is_shorter(http_target):
    transport = HttpTransport(http_target.url + PATH, timeout=60.0)
    http_target.answers = [lambda handler: http_target.released.wait(60)]
    began = time.monotonic()
    with pytest.raises(RetriableError):
        transport.send(event(1), timeout=0.3)
    assert time.monotonic() - began < 20
    transport.close()


@pytest.mark.parametrize(
    "garbage",
    [b"\x00\xff garbage\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b""],
    ids=["bytes", "status", "none"],
)
def test_garbage_is_no_delivery(http_target, transport, garbage):
    def answer(handler):
        handler.wfile.write(garbage)
        handler.close_connection = True

    http_target.answers = [answer]
    with pytest.raises(RetriableError):
        transport.send(event(1))


def test_after_a_failure_the_next_post_works(http_target, hasty):
    http_target.answers = [lambda handler: http_target.released.wait(2), 201, 201]
    with pytest.raises(RetriableError):
        hasty.send(event(1))
    hasty.send(event(2))
    hasty.send(event(3))
    assert len(http_target.requests) == 3


def test_api_key_headers_and_gzip(http_target):
    transport = HttpTransport(
        http_target.url + PATH,
        authorization=Authorization(f"Bearer {SECRET}"),
        compress=True,
        headers={"X-Team": "data"},
    )
    transport.send(event(1))
    transport.close()
    (_, headers, body) = http_target.requests[0]
    assert headers["Authorization"] == f"Bearer {SECRET}"
    assert (headers["Content-Encoding"], headers["X-Team"]) == ("gzip", "data")
    assert json.loads(gzip.decompress(body)) == event(1)


def test_credentials_of_the_url_are_sent_but_never_shown(http_target, tmp_path, caplog):
    caplog.set_level("DEBUG")
    url = http_target.url.replace("http://", f"http://ann:{SECRET}%2F@") + f"{PATH}?key={SECRET}"
    transport = HttpTransport(url)
    transport.send(event(1))
    (path, headers, _) = http_target.requests[0]
    assert path == f"{PATH}?key={SECRET}"
    pair = base64.b64encode(f"ann:{SECRET}/".encode()).decode()
    assert headers["Authorization"] == f"Basic {pair}"
    assert transport.description == http_target.url + PATH
    transport.close()

    caplog.clear()
    dead = HttpTransport(f"http://ann:{SECRET}@127.0.0.1:{free_port()}/x?key={SECRET}")
    worker = Worker(Spool(tmp_path, "app"), dead)
    worker._spool.put([event(1)])
    worker.close(0.3)
    told = [r.getMessage() for r in caplog.records if r.name.startswith("spark_lineage")]
    assert told
    assert SECRET not in " ".join(told)


def test_netrc_is_not_read(http_target, tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login ann password {SECRET}\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    transport = HttpTransport(http_target.url + PATH)
    transport.send(event(1))
    transport.close()
    assert "Authorization" not in http_target.requests[0][1]


def test_credentials_that_cannot_be_had_are_retriable_and_not_told(http_target):
    def fail():
        raise RuntimeError(f"token endpoint said no to {SECRET}")

    transport = HttpTransport(http_target.url + PATH, authorization=Provided(lambda: fail))
    with pytest.raises(RetriableError, match="no credentials: RuntimeError") as caught:
        transport.send(event(1))
    assert SECRET not in str(caught.value)
    assert http_target.requests == []
    transport.close()


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def trusted(authority, tmp_path):
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


@pytest.fixture
def tls_target(http_target, authority):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = http_target._server
    server.socket = context.wrap_socket(server.socket, server_side=True)
    http_target.url = http_target.url.replace("http:", "https:")
    return http_target


def test_tls_with_a_certificate_that_is_trusted(tls_target, trusted):
    transport = HttpTransport(tls_target.url + PATH, verify=trusted)
    transport.send(event(1))
    transport.send(event(2))
    transport.close()
    assert len(tls_target.requests) == 2


def test_tls_with_a_certificate_that_is_not(tls_target):
    transport = HttpTransport(tls_target.url + PATH)
    with pytest.raises(RetriableError, match="certificate verify failed"):
        transport.send(event(1))
    transport.close()
    assert tls_target.requests == []


def test_slow_bytes_over_tls_end_at_the_timeout(tls_target, trusted):
    transport = HttpTransport(tls_target.url + PATH, timeout=0.5, verify=trusted)
    tls_target.answers = [drip(tls_target, b"HTTP/1.1 201 Created\r\nX-Slow: ")]
    began = time.monotonic()
    with pytest.raises(RetriableError):
        transport.send(event(1))
    assert time.monotonic() - began < 20
    transport.close()


def test_a_missing_certificate_file_is_retriable(tmp_path):
    transport = HttpTransport("https://127.0.0.1:9/x", verify=str(tmp_path / "none.pem"))
    with pytest.raises(RetriableError):
        transport.send(event(1))
    transport.close()


def test_an_outage_delays_all_and_loses_none(http_target, tmp_path):
    http_target.answers = [
        500,
        lambda handler: reply(handler, 503, {"Retry-After": "0"}),
        lambda handler: handler.connection.shutdown(socket.SHUT_RDWR),  # dies in a post
        201,
    ]
    spool = Spool(tmp_path, "app")
    spool.put([event(number) for number in range(100)])
    worker = Worker(spool, HttpTransport(http_target.url + PATH))
    worker.start()
    assert worker.flush(60)
    posted = [json.loads(body)["number"] for _, _, body in http_target.requests]
    assert posted == [0, 0, 0, *range(100)]
    assert worker.close(30)
    assert list(tmp_path.iterdir()) == []


def test_threads_have_their_own_deadlines(http_target):
    """A short deadline of one transport does not end another's post."""
    slow = HttpTransport(http_target.url + PATH, timeout=60.0)
    quick = HttpTransport(http_target.url + PATH, timeout=0.1)
    http_target.answers = [
        lambda handler: (http_target.released.wait(0.8), reply(handler, 201)),
    ]
    failures: list[Exception] = []

    def post(transport):
        try:
            transport.send(event(1))
        except RetriableError as error:
            failures.append(error)

    threads = [threading.Thread(target=post, args=(t,)) for t in (slow, quick)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failures) == 1
    slow.close()
    quick.close()
