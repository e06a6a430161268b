import os

from django.core.wsgi import get_wsgi_application
from django.urls import reverse

from turnwise.live.metrics import publishing
from turnwise.live.traces import spans
from turnwise.project.uwsgi_pages import let_in

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
application = get_wsgi_application()
# All pages and the API are imported, and found by name, before anybody asks and before processes are forked.
reverse("crowd:thanks", args=["-"])
reverse("api-1:openapi-json")


def _report() -> None:
    """Publish metrics and export traces, in each process that uWSGI forks."""
    publishing.start()
    spans.start("pages")


def _report_a_last_time() -> None:
    publishing.stop()
    spans.stop()


try:
    import uwsgi  # type: ignore[import-untyped]  # only inside of it
except ImportError:
    pass
else:
    uwsgi.post_fork_hook = _report
    uwsgi.atexit = _report_a_last_time
let_in()
