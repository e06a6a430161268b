"""What holds of every task, whichever there are."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.template.loader import get_template
from django.test import Client
from django.urls import get_resolver, reverse

from turnwise.accounts.models import User
from turnwise.crowd.worker_task import WorkerTask
from turnwise.manual.pages import HELP, register_help
from turnwise.reports.report_kinds import ReportedTask
from turnwise.studies.models import Study
from turnwise.studies.services import save_study
from turnwise.studies.tasks import StudyTask, register, tasks

SignIn = Callable[[User], Client]

ROOT = Path(__file__).parents[2]
FOLDERS = {path.parent.name for path in (ROOT / "platform/turnwise/tasks").glob("*/task.py")}

# Where a word that is also a task's key says something else.
OTHER_MEANING = {
    "platform/turnwise/operating/operator_page.py": "a kind of frame",
    "platform/turnwise/manual/pages.py": "a page of the manual, and the app of that name",
    "evaluation/": "what scores generalise to: other conversations",
    "platform/turnwise/judging/": "the app of that name, and how plans are reached from a study",
    "platform/turnwise/project/settings.py": "the app of that name",
    "platform/turnwise/acceptance/views.py": "a field of a form: conversations that are decided about",
    "platform/turnwise/privacy/stored_data.py": "a key of the file: what somebody said",
    "platform/turnwise/studies/presets.py": "what a published protocol is run as: data that names its task",
    "platform/turnwise/comparisons/planner": "a kind of study that somebody plans, in an address",
    "platform/turnwise/comparisons/views.py": "a template's variable: systems with two measures each",
    "platform/turnwise/exports/bundle.py": "a key of study.json: the plan of a queue",
    "platform/turnwise/transcripts/importers/": "a key or a column of imported files",
    "platform/turnwise/transcripts/imports_api.py": "a column of imported files",
    "platform/turnwise/front_door/examples.py": "an example report, in its address",
    "platform/turnwise/live/metrics/families.py": "part of a socket's address, a label of metrics",
    "platform/turnwise/project/system/system_page.py": "the same label",
    "platform/turnwise/languages/texts.py": "part of the path of a file with texts",
    "platform/turnwise/publications/row_files.py": "a column, and a table of a study's bundle",
    "platform/turnwise/exports/chat_files/turn_table.py": "a column of a file",
    "platform/turnwise/reports/templatetags/stopping.py": "a key of the figures: compared bots",
}


def python_files() -> list[Path]:
    """Everything but the tasks themselves and the migrations, which are history."""
    found = [*(ROOT / "platform").rglob("*.py"), *(ROOT / "evaluation").rglob("*.py")]
    return [path for path in found if "tasks" not in path.parts and "migrations" not in path.parts]


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.key)
def test_everything_that_a_task_declares_exists(task: StudyTask) -> None:
    templates = [task.overview, task.form.template]
    if isinstance(task, WorkerTask):
        templates += [task.welcome, task.instructions]
        assert reverse(task.begin, args=["abc"])
        assert reverse(task.go_on, args=["abc"])
    if isinstance(task, ReportedTask):
        templates.append(task.report)
        assert reverse(task.read_at, args=[1])

    assert all(get_template(name) for name in templates)
    assert HELP[task.namespace] == task.manual
    assert get_resolver().app_dict[task.namespace]
    assert type(task).__module__ == f"turnwise.tasks.{task.key}.task"


def test_every_folder_is_a_task_and_no_two_share_a_place() -> None:
    assert {task.key for task in tasks()} == FOLDERS
    assert len({task.order for task in tasks()}) == len(tasks())


def test_nothing_outside_its_folder_names_a_task() -> None:
    named = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files()
        if not str(path.relative_to(ROOT)).startswith(tuple(OTHER_MEANING))
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Constant) and node.value in FOLDERS)
        or ((isinstance(node, ast.ImportFrom) and (node.module or "").startswith("turnwise.tasks."))
        and node.module not in ("turnwise.tasks.urls", "turnwise.tasks.api"))
    ]  # fmt: skip

    assert named == []


def test_no_code_or_template_compares_task_keys() -> None:
    asks = re.compile(r"\.task\b(\.key)?\s*(==|!=|in\b|not in\b)")
    pages = [path for path in (ROOT / "templates").rglob("*.html") if "tasks" not in path.parts]
    of_task = re.compile(rf"tasks/({'|'.join(FOLDERS)})/")

    assert [path for path in [*python_files(), *pages] if asks.search(path.read_text())] == []
    assert [path for path in pages if of_task.search(path.read_text())] == []


def test_a_task_that_leaves_something_out_is_refused_by_name() -> None:
    class Silent(StudyTask):
        key = "silent"
        title = "Say nothing"

    with pytest.raises(TypeError, match="Silent lacks form, intentions, manual, menu, namespace, order"):
        register(Silent)  # type: ignore[type-abstract]
    assert "silent" not in {task.key for task in tasks()}


def test_a_page_that_the_manual_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"has no page “singing”\. Its pages are: first-study, assistants"):
        register_help("singing", namespace="singing")
    assert "singing" not in HELP


@pytest.mark.django_db
def test_a_study_of_an_unknown_task_is_refused(rex: User) -> None:
    with pytest.raises(ValidationError, match="“singing” is not a task"):
        save_study(
            Study(title="Sing", languages=["en"], task="singing"), owner=rex, consent_text="Yes?", targets={}
        )
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_every_task_has_a_page_for_new_studies(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    page = client.get("/studies/new/").content.decode()

    for task in tasks():
        assert f'href="/studies/new/?task={task.key}"' in page
        shown = client.get(f"/studies/new/?task={task.key}").content.decode()
        assert f'<p class="beginning"><strong>{task.menu}</strong>' in shown
