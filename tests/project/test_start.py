"""What a process imports at its start: people wait for it, and a test run pays for hundreds of starts."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from turnwise.live.subprocesses import paused_garbage_collection

ROOT = Path(__file__).parents[2]
HEAVY = (
    "scipy.special", "scipy.stats", "scipy.sparse", "matplotlib", "fontTools", "pandas", "pyarrow",
    "openpyxl", "torch", "transformers", "turnwise.project.api", "ninja", "jinja2",
)  # fmt: skip
LOADED = f"print(*[each for each in {HEAVY} if each in sys.modules], 'turnwise.project.urls' in sys.modules)"
WEB_SERVER = f"""
import gc, sys
gc.disable()
from turnwise.project import web_server
web_server.load([])
print(gc.isenabled())
{LOADED}
from django.urls import resolve, reverse
print(reverse("workspace:home"), "ninja" in sys.modules)
print(reverse("api-1:openapi-json"), resolve("/api/nothing").view_name, "ninja" in sys.modules)
"""
WORKER = f"""
import gc, sys
from celery.app.utils import find_app
from celery.signals import worker_ready
app = find_app("turnwise.project")
app.loader.import_default_modules()
app.finalize()
print(gc.isenabled(), "turnwise.reports.tasks.refresh_stale_reports" in app.tasks)
{LOADED}
worker_ready.send(None)
print(gc.isenabled())
"""


def lines_of(code: str) -> list[str]:
    """What a new process prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}", "SECRET_KEY": "x"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_the_web_server_starts_without_statistics_drawing_models_or_the_rest_api() -> None:
    """After a crash everybody waits until the web server is back. What a report needs comes with it."""
    assert lines_of(WEB_SERVER) == [
        "False",  # it looks for no garbage while it loads
        "True",  # nothing heavy is imported, but all pages are
        "/home/ False",
        "/api/openapi.json api-1:elsewhere True",  # a link or a request below it imports the REST API
    ]


def test_a_worker_for_jobs_starts_without_pages_and_collects_garbage_once_it_is_ready() -> None:
    assert lines_of(WORKER) == ["False True", "False", "True"]


def test_processes_that_uwsgi_forks_share_the_rest_api() -> None:
    loaded = "import sys, turnwise.project.wsgi; print('turnwise.project.api' in sys.modules)"

    assert lines_of(loaded) == ["True"]


@pytest.mark.parametrize("is_running", [True, False])
def test_loading_leaves_garbage_collection_as_it_was(is_running: bool) -> None:
    before = gc.isenabled()
    (gc.enable if is_running else gc.disable)()
    try:
        with paused_garbage_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == is_running
    finally:
        (gc.enable if before else gc.disable)()


def test_no_command_of_ours_imports_every_page_for_checks_of_the_code() -> None:
    ours = {name: app for name, app in get_commands().items() if app.startswith("turnwise.")}

    checking = {name for name, app in ours.items() if load_command_class(app, name).requires_system_checks}

    assert checking == {"migrate"}  # Django's own
