"""`/metrics`: all metrics in Prometheus's text format, for this machine or for those who have the token."""

from hmac import compare_digest

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric

from turnwise.project.system.gathering import gather

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LOOPBACK = ("127.0.0.1", "::1")
# Headers by which a proxy says for whom it asks: behind one, every request comes from this machine.
FORWARDED = ("HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP", "HTTP_FORWARDED", "HTTP_VIA")


class _Collected(CollectorRegistry):
    def __init__(self, families: list[Metric]) -> None:
        super().__init__()
        self._families = families

    def collect(self):  # type: ignore[no-untyped-def]  # untyped in the library
        return iter(self._families)


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics; 403 with a wrong token, and 404 from other machines if no token is set."""
    refusal = _refusal(request)
    if refusal:
        return refusal
    return HttpResponse(exposition(gather().families), content_type=CONTENT_TYPE)


def exposition(families: list[Metric]) -> bytes:
    """These metrics in Prometheus's text format."""
    return generate_latest(_Collected(families))


def _refusal(request: HttpRequest) -> HttpResponse | None:
    token = settings.METRICS_TOKEN
    if not token:
        is_forwarded = any(header in request.META for header in FORWARDED)
        if request.META.get("REMOTE_ADDR") not in LOOPBACK or is_forwarded:
            raise Http404(
                "Metrics are for this machine. Set TURNWISE_METRICS_TOKEN to read them from others."
            )
        return None
    given = request.headers.get("Authorization", "").encode()
    if compare_digest(given, f"Bearer {token}".encode()):
        return None
    say = "The token is missing or wrong. Send TURNWISE_METRICS_TOKEN as “Authorization: Bearer …”.\n"
    return HttpResponse(say, status=403, content_type="text/plain; charset=utf-8")
