"""Traces: what OpenTelemetry is sent of a request, and that nobody asks about it where it is not set up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests import plain_http
from tests.server.rest import LABELS, RestNode
from tests.server.serving import served
from topicfold.server import tracing

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
Span = tuple[str, str, Mapping[str, str]]


class Collector:
    """Takes spans as OpenTelemetry's collector does, over HTTP on loopback: names, traces and attributes."""

    def __init__(self) -> None:
        self._spans: Queue[Span] = Queue()
        spans = self._spans

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["Content-Length"])))
                for resource in sent.resource_spans:
                    for scope in resource.scope_spans:
                        for span in scope.spans:
                            said = {each.key: each.value.string_value for each in span.attributes}
                            spans.put((span.name, span.trace_id.hex(), said))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def next_span(self) -> Span:
        return self._spans.get(timeout=60)

    def rest(self) -> list[Span]:
        """Return what else has come."""
        return [self._spans.get() for _ in range(self._spans.qsize())]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def test_requests_are_traced_by_route_where_a_collector_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collector: Collector
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    with served(tmp_path / "log.db") as (process, url):
        with plain_http.client(base_url=url) as client:
            assert client.put("/api/v1/topics/public/default/orders", headers={"traceparent": PARENT}).is_success
            assert client.head("/api/v1/topics/public/default/orders").is_success
            assert client.get("/livez").is_success
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        assert '"trace_id": "0af7651916cd43dd8448eb211c80319c"' in process.stderr.read()
    name, trace_id, said = collector.next_span()
    assert (name, trace_id) == ("PUT /api/v1/topics/{tenant}/{namespace}/{topic}", PARENT[3:35])
    assert said["http.route"] == "/api/v1/topics/{tenant}/{namespace}/{topic}"
    assert collector.next_span()[0] == "HEAD /api/v1/topics/{tenant}/{namespace}/{topic}"
    assert collector.rest() == []


def test_a_collector_that_does_not_answer_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    with served(tmp_path / "log.db") as (_, url):
        assert plain_http.put(f"{url}/api/v1/topics/public/default/orders").is_success
        assert plain_http.get(f"{url}/api/v1/topics/public/default/orders").is_success


async def test_nobody_asks_about_traces_where_none_are_wanted(
    orders: RestNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object) -> trace.TracerProvider:
        raise AssertionError("OpenTelemetry was asked while serving")

    monkeypatch.setattr(trace, "get_tracer_provider", asked)
    assert await orders.get(LABELS) == {"team": "pay", "tier": "gold"}
    await orders.done("POST", LABELS, {"labels": {"tier": "silver"}})


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, True),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, False),
    ],
)
def test_the_environment_says_whether_requests_are_traced(
    said: Mapping[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    assert tracing.is_traced() is expected


def test_whoever_has_set_up_opentelemetry_has_requests_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", trace.NoOpTracerProvider)
    assert tracing.is_traced()


def test_a_collector_is_of_no_use_without_what_sends_to_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setattr(tracing, "_EXPORTER", "no_such_module")
    assert not tracing.is_traced()
    assert "topicfold[otel]" in "".join(capsys.readouterr())
