"""What a process imports at its start: people wait for it, and a test run pays for hundreds of starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).parents[2]
HEAVY = (
    "scipy.special", "scipy.stats", "scipy.sparse", "matplotlib", "fontTools", "pandas", "pyarrow",
    "openpyxl", "torch", "transformers", "turnwise.project.api", "ninja", "jinja2",
)  # fmt: skip
WEB_SERVER = "from turnwise.project import web_server; web_server.load([])"
WORKER = (
    "from celery.app.utils import find_app; app = find_app('turnwise.project'); "
    "app.loader.import_default_modules(); app.finalize()"
)


def output_of(code: str) -> str:
    """What a new process prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}", "SECRET_KEY": "x"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def loaded_by(start: str, modules: tuple[str, ...]) -> str:
    return output_of(f"{start}; import sys; print(*[each for each in {modules} if each in sys.modules])")


def test_the_web_server_starts_without_statistics_drawing_models_or_the_rest_api() -> None:
    """After a crash everybody waits until the web server is back. What a report needs comes with it."""
    assert loaded_by(WEB_SERVER, (*HEAVY, "turnwise.crowd.urls")) == "turnwise.crowd.urls"


def test_a_worker_for_jobs_starts_without_pages() -> None:
    modules = (*HEAVY, "turnwise.project.urls", "turnwise.reports.tasks")

    assert loaded_by(WORKER, modules) == "turnwise.reports.tasks"


def test_the_rest_api_is_imported_for_the_first_link_or_request_below_it() -> None:
    found = output_of(
        f"{WEB_SERVER}; import sys; from django.urls import resolve, reverse; "
        "print('ninja' in sys.modules, reverse('workspace:home'), 'ninja' in sys.modules, "
        "reverse('api-1:openapi-json'), resolve('/api/nothing').view_name, 'ninja' in sys.modules)"
    )

    assert found == "False /home/ False /api/openapi.json api-1:elsewhere True"


def test_processes_that_uwsgi_forks_share_the_rest_api() -> None:
    assert loaded_by("import turnwise.project.wsgi", ("turnwise.project.api",)) == "turnwise.project.api"


@pytest.mark.parametrize(
    "start", ["import turnwise.project.asgi", WEB_SERVER, "from turnwise.project.supervision import keeper"]
)
def test_loading_leaves_garbage_collection_as_it_was(start: str) -> None:
    code = f"import gc; gc.{{}}(); {start}; print(gc.isenabled())"

    assert [output_of(code.format(how)) for how in ("enable", "disable")] == ["True", "False"]


def test_a_worker_collects_garbage_once_it_is_ready() -> None:
    ready = "import gc; from celery.signals import worker_ready; print(gc.isenabled())"

    assert output_of(f"{WORKER}; {ready}; worker_ready.send(None); print(gc.isenabled())") == "False\nTrue"


def test_no_command_of_ours_imports_every_page_for_checks_of_the_code() -> None:
    ours = {name: app for name, app in get_commands().items() if app.startswith("turnwise.")}

    checking = {name for name, app in ours.items() if load_command_class(app, name).requires_system_checks}

    assert checking == {"migrate"}  # Django's own
