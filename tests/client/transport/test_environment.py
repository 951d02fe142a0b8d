"""What the environment says of proxies and authorities: kept to, and told where it is in the way."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from topicfold.client import Client, RetryRule, ServerUnreachable
from topicfold.errors import BadSetting, TopicfoldError

FAR = "http://topicfold.invalid:8080"
ONCE = RetryRule(max_attempts=1)


class _Refusing(BaseHTTPRequestHandler):
    """Refuses what it is to pass on, as a proxy does that knows nobody by that name."""

    def do_GET(self) -> None:
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_CONNECT = do_GET  # noqa: N815 -- as the library calls it

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Proxy(ThreadingHTTPServer):
    def __init__(self) -> None:
        self.seen: list[str] = []
        super().__init__(("127.0.0.1", 0), _Refusing)
        self.url = f"http://127.0.0.1:{self.server_port}"


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme in ("http", "https", "all", "no"):
        for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper()):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Proxy]:
    """What HTTP_PROXY and HTTPS_PROXY name."""
    with _Proxy() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("https_proxy", proxy.url.replace("http://", "http://me:s3cret@"))
        Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy
        proxy.shutdown()


def failure_at(url: str) -> TopicfoldError:
    with Client(url, retry=ONCE, timeout_seconds=5) as client, pytest.raises(TopicfoldError) as caught:
        client.list_tenants()
    return caught.value


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "LOCALHOST", "[::1]", "[0:0:0:0:0:0:0:1]"])
def test_a_server_on_this_machine_is_not_asked_through_a_proxy(proxy: _Proxy, host: str) -> None:
    failure = failure_at(f"http://{host}:1")
    assert isinstance(failure, ServerUnreachable)
    assert "proxy" not in failure.reason
    assert not proxy.seen


@pytest.mark.parametrize("url", [FAR, FAR.replace("http", "https")])
def test_whoever_is_asked_through_a_proxy_is_told_of_it_where_that_fails(proxy: _Proxy, url: str) -> None:
    failure = failure_at(url)
    assert len(proxy.seen) == 1
    assert f"from {url} through the proxy {proxy.url}" in failure.reason
    assert "s3cret" not in str(failure) + failure.hint


def test_a_proxy_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "127.0.0.1:1")
    failure = failure_at(FAR)
    assert failure.reason.startswith(f"no answer from {FAR} through the proxy http://127.0.0.1:1: ")
    assert "NO_PROXY" in failure.hint


@pytest.mark.parametrize("spared", ["topicfold.invalid", ".invalid", "a,*"])
def test_a_server_that_no_proxy_names_is_asked_itself(
    proxy: _Proxy, spared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", spared)
    assert "proxy" not in failure_at(FAR).reason
    assert not proxy.seen


@pytest.mark.parametrize("unusable", ["socks://h:1", "ftp://me:s3cret@h", "http://[zz]:1", "http://me:s3cret@h:x"])
def test_a_proxy_that_cannot_be_used_is_a_bad_setting(unusable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", unusable)
    with pytest.raises(BadSetting, match=r"^all_proxy of the environment, ") as caught:
        Client(FAR)
    assert "s3cret" not in str(caught.value)
    Client("http://127.0.0.1:8080").close()


def test_a_socks_proxy_needs_a_package_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    monkeypatch.setattr("topicfold.client.transport.environment.find_spec", lambda name: None)
    with pytest.raises(BadSetting, match=r"socks5://127\.0\.0\.1:1") as caught:
        Client(FAR)
    assert "pip install socksio" in caught.value.hint


@pytest.mark.parametrize("url", [FAR.replace("http", "https"), FAR, "https://127.0.0.1:1"])
def test_authorities_that_cannot_be_read_are_a_bad_setting(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (tmp_path / "none", Path(__file__)):
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        with pytest.raises(BadSetting, match=r"^SSL_CERT_FILE .*cannot be used"):
            Client(url)
