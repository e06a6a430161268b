"""Spans: a decorator for steps of an event loop, a context for pages and jobs, and their exporter."""

import functools
import os
import socket
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from django.conf import settings

from turnwise.live import log_context

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

P = ParamSpec("P")
T = TypeVar("T")

NOT_INSTALLED = (
    "TURNWISE_TRACES is set, but OpenTelemetry is not installed. Install turnwise[traces], or leave "
    "TURNWISE_TRACES empty."
)

_tracer: "Tracer | None" = None
_provider: "TracerProvider | None" = None


def start(process: str) -> None:
    """Export the spans of this process from now on, if `TURNWISE_TRACES` is set. Call it after a fork.

    Args:
        process: kind of the process, such as "pages", for the attribute `turnwise.process`.

    Raises:
        SystemExit: OpenTelemetry is not installed; the message says what to do.
    """
    global _provider, _tracer
    if not settings.TRACES or _tracer:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.psycopg2 import Psycopg2Instrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise SystemExit(NOT_INSTALLED) from None
    of_process = {
        "service.name": "turnwise",
        "service.version": version("turnwise"),
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
        "turnwise.process": process,
    }
    _provider = TracerProvider(resource=Resource.create(of_process))
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{settings.TRACES}/v1/traces")))
    Psycopg2Instrumentor().instrument(tracer_provider=_provider)
    _tracer = _provider.get_tracer("turnwise")


def stop() -> None:
    """Export what is left, as the process ends."""
    global _provider, _tracer
    if _provider:
        from opentelemetry.instrumentation.psycopg2 import Psycopg2Instrumentor

        Psycopg2Instrumentor().uninstrument()
        _provider.shutdown()
    _provider = _tracer = None


@contextmanager
def span(name: str, carried: Mapping[str, str] | None = None) -> Iterator["Span | None"]:
    """Trace the block as a span; yield it for further attributes, or None if traces are off.

    Args:
        name: of the kind of work, such as "page".
        carried: what `carrier` gave where the work was asked for, which makes it part of that trace.
    """
    if _tracer is None:
        yield None
        return
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    parent = TraceContextTextMapPropagator().extract(carried) if carried else None
    with _tracer.start_as_current_span(name, parent) as made:
        try:
            yield made
        finally:  # some ids are known only by now, such as a page's study
            for key, value in log_context.current().items():
                made.set_attribute(f"turnwise.{key}", value)


def traced(name: str) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Coroutine[Any, Any, T]]]:
    """Trace each call of a coroutine function as a span."""

    def decorate(step: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        async def run(*args: P.args, **kwargs: P.kwargs) -> T:
            with span(name):
                return await step(*args, **kwargs)

        @functools.wraps(step)
        def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
            return step(*args, **kwargs) if _tracer is None else run(*args, **kwargs)

        return call

    return decorate


def carrier() -> dict[str, str]:
    """Headers that make work elsewhere part of the current trace; empty if traces are off."""
    headers: dict[str, str] = {}
    if _tracer:
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers
