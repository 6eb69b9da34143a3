"""TLS as openlineage-python configures it: authorities, client certificates."""

from __future__ import annotations

import ssl

import pytest
import trustme

from spark_lineage.delivery.transports import openlineage
from spark_lineage.errors import ConfigError, RetriableError
from tests.delivery.conftest import HttpTarget
from tests.delivery.doubles import event


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def secure(authority):
    """Starts servers with a certificate of the authority for a name."""
    made = []

    def start(*names, client_authority=None):
        target = HttpTarget()
        made.append(target)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*(names or ("127.0.0.1",))).configure_cert(context)
        if client_authority is not None:
            client_authority.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        server = target._server
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        target.url = target.url.replace("http:", "https:")
        return target

    yield start
    for target in made:
        target.close()


@pytest.fixture
def trusted(authority, tmp_path):
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def transport(target, **section):
    (made,) = openlineage.targets({"type": "http", "url": target.url, **section}, 5.0)
    return made.transport


def written(tmp_path, certificate):
    paths = tmp_path / "client.pem", tmp_path / "client.key", tmp_path / "both.pem"
    certificate.cert_chain_pems[0].write_to_path(str(paths[0]))
    certificate.private_key_pem.write_to_path(str(paths[1]))
    certificate.private_key_and_cert_chain_pem.write_to_path(str(paths[2]))
    return tuple(str(path) for path in paths)


@pytest.mark.parametrize("spelling", ["caCertPath", "ca_cert_path", "cacertpath"])
def test_an_authority_of_ones_own(secure, trusted, spelling):
    target = secure()
    sender = transport(target, sslContext={spelling: trusted})
    sender.send(event(1))
    sender.close()
    assert len(target.requests) == 1


def test_an_authority_that_is_not_trusted(secure):
    target = secure()
    sender = transport(target)
    with pytest.raises(RetriableError, match="certificate verify failed"):
        sender.send(event(1))
    sender.close()
    assert target.requests == []


def test_a_certificate_for_another_name(secure, trusted):
    target = secure("elsewhere.example")
    sender = transport(target, ssl_context={"ca_cert_path": trusted})
    with pytest.raises(RetriableError, match=r"certificate is not valid for '127\.0\.0\.1'"):
        sender.send(event(1))
    sender.close()
    assert target.requests == []


def test_a_client_certificate(secure, authority, trusted, tmp_path):
    target = secure(client_authority=authority)
    certificate, key, both = written(tmp_path, authority.issue_cert("agent@example.org"))
    apart = {"caCertPath": trusted, "clientCertPath": certificate, "clientKeyPath": key}
    for section in (apart, {"caCertPath": trusted, "clientCertPath": both}):
        sender = transport(target, sslContext=section)
        sender.send(event(1))
        sender.close()
    assert len(target.requests) == 2


def test_without_a_client_certificate(secure, authority, trusted):
    target = secure(client_authority=authority)
    sender = transport(target, sslContext={"caCertPath": trusted})
    with pytest.raises(RetriableError):
        sender.send(event(1))
    sender.close()
    assert target.requests == []


def test_a_client_certificate_of_another_authority(secure, authority, trusted, tmp_path):
    target = secure(client_authority=authority)
    certificate, key, _ = written(tmp_path, trustme.CA().issue_cert("agent@example.org"))
    section = {"caCertPath": trusted, "clientCertPath": certificate, "clientKeyPath": key}
    sender = transport(target, sslContext=section)
    with pytest.raises(RetriableError):
        sender.send(event(1))
    sender.close()
    assert target.requests == []


def test_a_key_needs_a_certificate(secure):
    with pytest.raises(ConfigError, match="clientCertPath"):
        transport(secure(), sslContext={"clientKeyPath": "/x"})
