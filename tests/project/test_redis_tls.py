"""Redis over TLS: every client speaks it, and refuses a certificate that nobody vouches for."""

import asyncio
import json
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.project.conftest import ROOT
from turnwise.project.job_queues import broker_address

# What connects to Redis, each in its own way: the cache, the broker of jobs, and the layer of messages.
CLIENTS = """
import asyncio, json
import django
django.setup()
from django.core.cache import cache
from turnwise.live.sockets import layer
from turnwise.project.celery import app

def works(attempt):
    try:
        return bool(attempt())
    except Exception as error:
        return type(error).__name__

def broker():
    with app.connection_for_write() as connection:
        return connection.ensure_connection(max_retries=1, timeout=5).connected

async def messages():
    return await layer.process_layer().is_connected()

print(json.dumps([works(lambda: cache.set("tls", 1) or cache.get("tls")), works(broker),
                  works(lambda: asyncio.run(messages()))]))
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of localhost that vouches for itself, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path_factory.mktemp("tls") / "certificate.pem"
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@pytest.fixture(scope="module")
def port(certificate: Path) -> Iterator[int]:
    """Where the tests' Redis answers over TLS."""
    loop, started, ports = asyncio.new_event_loop(), threading.Event(), list[int]()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def listen() -> None:
        server = await asyncio.start_server(_pass_on, "localhost", 0, family=2, ssl=context)
        ports.append(server.sockets[0].getsockname()[1])
        started.set()

    loop.set_exception_handler(lambda *_: None)  # clients that hang up during the handshake
    loop.create_task(listen())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    started.wait()
    yield ports[0]
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    answers, asks = await asyncio.open_unix_connection(urlsplit(os.environ["REDIS_URL"]).path)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while part := await source.read(65536):
                target.write(part)
                await target.drain()
        target.close()

    await asyncio.gather(copy(reader, asks), copy(answers, writer))


def attempts(address: str) -> list[bool | str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CLIENTS],
        env=os.environ
        | {
            "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
            "DJANGO_SETTINGS_MODULE": "turnwise.project.settings",
            "REDIS_URL": address,
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found: list[bool | str] = json.loads(done.stdout)
    return found


def test_all_clients_speak_tls(port: int, certificate: Path) -> None:
    assert attempts(f"rediss://localhost:{port}/0?ssl_ca_certs={certificate}") == [True, True, True]


def test_no_client_trusts_a_certificate_that_nobody_vouches_for(port: int) -> None:
    cache, broker, messages = attempts(f"rediss://localhost:{port}/0")

    assert cache == "ConnectionError"
    assert broker == "OperationalError"
    assert messages is False


def test_no_client_trusts_a_certificate_of_another_host(port: int, certificate: Path) -> None:
    cache, broker, messages = attempts(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificate}")

    assert (cache, broker, messages) == ("ConnectionError", "OperationalError", False)


@pytest.mark.parametrize(
    ("redis", "broker"),
    [
        ("redis://:p%40w@host:6379/0", "redis://:p%40w@host:6379/0"),
        ("unix:///run/redis.sock?db=1", "redis+socket:///run/redis.sock?db=1"),
        ("rediss://:p%40w@host/0", "rediss://:p%40w@host/0?ssl_cert_reqs=required"),
        ("rediss://host/0?ssl_ca_certs=/ca", "rediss://host/0?ssl_ca_certs=/ca&ssl_cert_reqs=required"),
        ("rediss://host/0?ssl_cert_reqs=none", "rediss://host/0?ssl_cert_reqs=none"),
    ],
)
def test_the_broker_s_address(redis: str, broker: str) -> None:
    assert broker_address(redis) == broker
