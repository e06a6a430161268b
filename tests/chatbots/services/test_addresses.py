import asyncio

import httpcore
import pytest

from chatbots.errors import ForbiddenAddressError
from chatbots.services.addresses import check_address, check_url
from chatbots.services.network import CheckedNetwork

FORBIDDEN = [
    "127.0.0.1",
    "127.255.255.254",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",  # carrier-grade NAT
    "169.254.169.254",  # metadata of clouds
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "240.0.0.1",
    "192.0.2.1",  # documentation
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::7f00:1",  # IPv4-compatible
    "64:ff9b::7f00:1",  # NAT64 of 127.0.0.1
    "64:ff9b:1::1",
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo of 127.0.0.1
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fd00:ec2::254",  # metadata of a cloud
    "ff02::1",
    "2001:db8::1",
]
PUBLIC = [
    "93.184.215.14",
    "8.8.8.8",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::",
]


@pytest.fixture(autouse=True)
def _nothing_is_allowed(monkeypatch):
    monkeypatch.delenv("TURNWISE_ALLOWED_NETWORKS", raising=False)


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_address_that_is_not_public_is_refused(address):
    with pytest.raises(
        ForbiddenAddressError, match=r"bot.example.*adds its network to TURNWISE_ALLOWED_NETWORKS"
    ):
        check_address("bot.example", address)


def test_the_refusal_says_which_network_would_allow_it(monkeypatch):
    with pytest.raises(ForbiddenAddressError, match=r"such as 127\.0\.0\.1/32, and starts Turnwise again"):
        check_address("localhost", "127.0.0.1")

    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.1/32")
    check_address("localhost", "127.0.0.1")


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_let_through(address):
    check_address("bot.example", address)


@pytest.mark.parametrize(
    ("networks", "address"),
    [
        ("127.0.0.0/8", "127.0.0.1"),
        ("127.0.0.0/8", "::ffff:127.0.0.1"),
        ("10.0.0.0/8, ::1/128", "::1"),
        ("10.1.2.3", "10.1.2.3"),
    ],
)
def test_an_allowed_network_is_let_through(networks, address, monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", networks)

    check_address("bot.example", address)


def test_an_allowed_network_opens_no_other(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "10.0.0.0/8")

    with pytest.raises(ForbiddenAddressError):
        check_address("bot.example", "127.0.0.1")


def test_a_slip_in_the_setting_is_named_and_allows_nothing(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "10.0.0.0/8, localhost")

    with pytest.raises(ForbiddenAddressError, match=r"'localhost'.*Write networks as 10.1.0.0/16"):
        check_address("bot.example", "10.0.0.1")


@pytest.mark.parametrize(
    "host",
    [
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "127.1",
        "127.0.1",
        "[::1]",
        "[::ffff:7f00:1]",
        "169.254.169.254",
        "0",
    ],
)
def test_any_notation_of_a_forbidden_address_is_refused_in_a_url(host):
    with pytest.raises(ValueError, match="is not an address of the public internet"):
        check_url(f"http://{host}/v1")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file:///etc/passwd", "Write it as https://"),
        ("ftp://bot.example/x", "Write it as https://"),
        ("bot.example/v1", "Write it as https://"),
        ("https://", "Write it as https://"),
        ("https://user:secret@bot.example/v1", "name or password inside"),
        ("https://@bot.example/v1", "name or password inside"),
        ("https://bot.example/v1#top", "fragment"),
        ("https://bot.example:0/v1", "port 0"),
        ("https://bot.example:99999/v1", "Port out of range"),
        ("https://bot.example/a b", "spaces"),
        ("https://bot.example/\r\nX: y", "spaces"),
        ("https://b\N{LATIN SMALL LETTER O WITH DIAERESIS}t.example/", "outside of ASCII"),
    ],
)
def test_an_unusable_url_is_refused_with_the_cure(url, message):
    with pytest.raises(ValueError, match=message):
        check_url(url)


@pytest.mark.parametrize(
    "url", ["https://bot.example/v1", "http://bot.example:8080/a%20b?c=d", "https://[2606::1]/"]
)
def test_addresses_of_services_are_let_through_unchanged(url):
    assert check_url(url) == url


@pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "127.0.0.1"])
async def test_a_name_is_judged_by_what_it_resolves_to_when_it_is_connected_to(host):
    with pytest.raises(ForbiddenAddressError, match="not an address of the public internet"):
        await CheckedNetwork().connect_tcp(host, 9)


async def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch):
    # A resolver of an attacker: the first answer is public, every later one is this machine.
    answers = [["93.184.215.14"], ["127.0.0.1"], ["127.0.0.1"]]
    asked = []

    async def resolve(host, port, **options):
        asked.append(host)
        return [(None, None, None, "", (address, port)) for address in answers.pop(0)]

    class Recorder(httpcore.AsyncNetworkBackend):
        async def connect_tcp(self, host, port, *rest):
            asked.append(f"connect {host}")
            return httpcore.AsyncMockStream([])

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    network = CheckedNetwork(Recorder())

    await network.connect_tcp("rebind.example", 80)

    assert asked == ["rebind.example", "connect 93.184.215.14"]


async def test_one_forbidden_address_among_public_ones_is_enough_to_refuse(monkeypatch):
    async def resolve(host, port, **options):
        return [(None, None, None, "", (address, port)) for address in ("93.184.215.14", "10.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)

    with pytest.raises(ForbiddenAddressError, match=r"mixed.example \(10.0.0.1\)"):
        await CheckedNetwork().connect_tcp("mixed.example", 80)
