"""`turnwise doctor`: each kind of problem is found and said with its cure, on real services."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from django.db.migrations.recorder import MigrationRecorder

from tests.project.conftest import clean_environment
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.project.doctor import database_checks, system_checks
from turnwise.project.doctor.findings import Finding, State, problem, run_checks

ROOT = Path(__file__).parents[2]


def doctor(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    paths = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "platform")))}
    return subprocess.run(
        [sys.executable, "-m", "turnwise", "doctor", *arguments],
        env=clean_environment() | paths | environment, capture_output=True, text=True, timeout=240,
    )  # fmt: skip


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])


def only(findings: Iterable[Finding]) -> tuple[State, str, str]:
    (found,) = findings
    return found.state, found.sentence, found.cure


def test_before_the_first_start_only_services_are_unchecked(tmp_path: Path) -> None:
    ended = doctor("--json", "--port", free_port(), "--data", str(tmp_path / "new"))

    found = json.loads(ended.stdout)
    assert (ended.returncode, ended.stderr, found["ok"]) == (0, "", True)
    assert [each["check"] for each in found["findings"] if each["state"] != "ok"] == ["PostgreSQL", "Redis"]
    assert not (tmp_path / "new").exists()


def test_all_problems_are_listed_with_their_cures_and_without_passwords(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = doctor(
            "--port", str(listener.getsockname()[1]), "--data", "/dev/null/here",
            DATABASE_URL="postgresql://me:hidden@127.0.0.1:1/x",
            REDIS_URL="redis://:hidden@127.0.0.1:1/0",
        )  # fmt: skip

    lines = [line for line in ended.stdout.splitlines() if line.startswith("PROBLEM")]
    assert (ended.returncode, ended.stderr) == (1, "")
    assert [line.split(maxsplit=1)[1].partition(":")[0] for line in lines] == [
        "data folder",
        "port",
        "PostgreSQL",
        "Redis",
        "secret key",
    ]
    assert "choose another folder with --data." in lines[0]
    assert "Choose another with --port" in lines[1]
    assert "Check the host and port in DATABASE_URL" in lines[2]
    assert "Check the host and port in REDIS_URL" in lines[3]
    assert "hidden" not in ended.stdout
    assert ended.stdout.endswith("\n5 problems found.\n")


def test_a_setting_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    ended = doctor("--port", free_port(), "--data", str(tmp_path), TURNWISE_HTTPS="maybe")

    assert (ended.returncode, ended.stderr) == (1, "")
    assert "settings: TURNWISE_HTTPS='maybe' is neither yes nor no. Set it to one of" in ended.stdout


def test_a_locale_that_cannot_hold_every_script_is_a_problem(tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    ended = doctor("--json", "--port", free_port(), "--data", str(tmp_path), **ascii_only)

    found = {each["check"]: each for each in json.loads(ended.stdout)["findings"]}
    assert ended.returncode == 1
    assert found["locale"]["cure"] == "Set LANG=C.UTF-8, or PYTHONUTF8=1."


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("numpy>=2", ""),
        ("numpy>=9000", "not >=9000"),
        ("no-such-package-here>=1", "no-such-package-here is missing"),
        ("no-such-package-here>=1; extra == 'models'", ""),
    ],
)
def test_a_package_that_does_not_fit_is_named(requirement: str, expected: str) -> None:
    found = system_checks._package_problem(requirement)

    assert found.endswith(expected) if expected else found == ""


def test_a_secret_key_that_others_can_read_is_a_problem(tmp_path: Path) -> None:
    key = tmp_path / "secret_key"
    key.write_text("x")
    key.chmod(0o644)
    first, second = system_checks.check_data_folder(tmp_path)
    key.chmod(0o600)

    assert (first.state, first.cure) == (State.PROBLEM, f"Run chmod 600 {key}.")
    assert second.state == State.OK
    assert only(system_checks.check_data_folder(tmp_path))[0] == State.OK


NOT_WRITABLE = Path("/proc")  # not even for root


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a container."""
    for name in ("DATABASE_URL", "REDIS_URL", "SECRET_KEY"):
        monkeypatch.setenv(name, "set")


@pytest.mark.parametrize("missing", ["DATABASE_URL", "REDIS_URL", "SECRET_KEY"])
@pytest.mark.parametrize("folder", [NOT_WRITABLE, NOT_WRITABLE / "new", Path("/dev/null/new")])
def test_a_data_folder_that_is_needed_and_cannot_be_written_is_a_problem(
    folder: Path, missing: str, elsewhere: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(missing)

    state, sentence, cure = only(system_checks.check_data_folder(folder))

    assert (state, sentence.partition(":")[0]) == (
        State.PROBLEM, f"The data folder {folder} cannot be written",
    )  # fmt: skip
    assert cure == "Change the permissions there, or choose another folder with --data."


@pytest.mark.parametrize("folder", [NOT_WRITABLE, NOT_WRITABLE / "new"])
def test_where_the_data_are_elsewhere_the_data_folder_may_be_read_only(folder: Path, elsewhere: None) -> None:
    state, sentence, _ = only(system_checks.check_data_folder(folder))

    assert (state, "the data are in services elsewhere" in sentence) == (State.OK, True)


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder that cannot be written, with a volume for models that can."""
    folder = tmp_path / "var"
    (folder / "models").mkdir(parents=True)
    if not os.geteuid():
        for each in (folder, folder / "models"):
            if subprocess.run(["mount", "--bind", each, each], capture_output=True).returncode:
                pytest.skip("Nothing can be mounted here.")
    make_read_only(folder)
    yield folder
    if not os.geteuid():
        subprocess.run(["umount", "--recursive", folder], check=True)
    for each in (folder, folder / "models"):
        each.chmod(0o755)


def make_read_only(folder: Path) -> None:
    """Permissions do not keep root from writing, but a read-only mount does, as in a container."""
    if os.geteuid():
        folder.chmod(0o555)
    else:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)


def test_models_are_fetched_to_a_volume_in_a_read_only_folder(read_only: Path, elsewhere: None) -> None:
    models = read_only / "models"
    writable = only(system_checks.check_data_folder(read_only))
    left = list(models.iterdir())
    make_read_only(models)
    state, sentence, cure = only(system_checks.check_data_folder(read_only))

    assert (writable[0], writable[1].endswith(f" Models can be fetched to {models}.")) == (State.OK, True)
    assert left == []
    assert (state, sentence.startswith(f"Models are fetched to {models}, which cannot be written: ")) == (
        State.PROBLEM, True,
    )  # fmt: skip
    assert "mount a volume" in cure


def test_in_a_container_that_can_write_nothing_there_is_no_problem() -> None:
    """The whole command, with the services of these tests and a data folder in which nothing can be made."""
    services = {name: os.environ[name] for name in ("DATABASE_URL", "REDIS_URL")}

    ended = doctor("--json", "--port", free_port(), "--data", str(NOT_WRITABLE), SECRET_KEY="x", **services)
    without = doctor("--json", "--port", free_port(), "--data", str(NOT_WRITABLE), **services)

    found, needed = (
        {each["check"]: each["state"] for each in json.loads(each.stdout)["findings"]}
        for each in (ended, without)
    )
    assert (found["data folder"], found["Redis"]) == ("ok", "ok")
    assert needed["data folder"] == "problem"


@pytest.mark.parametrize("limit", ["MIN_FREE_BYTES", "MIN_MEMORY_BYTES"])
def test_too_little_disk_or_memory_is_a_problem(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: dict[str, Callable[[], Iterable[Finding]]] = {
        "MIN_FREE_BYTES": lambda: system_checks.check_disk(tmp_path / "not" / "yet"),
        "MIN_MEMORY_BYTES": system_checks.check_memory,
    }
    monkeypatch.setattr(system_checks, limit, 0)
    enough = only(checks[limit]())[0]
    monkeypatch.setattr(system_checks, limit, 10**18)

    assert (enough, only(checks[limit]())[0]) == (State.OK, State.PROBLEM)


def test_a_clock_before_the_installation_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert only(system_checks.check_clock())[0] == State.OK
    monkeypatch.setattr(system_checks.time, "time", lambda: 0.0)

    assert only(system_checks.check_clock())[0] == State.PROBLEM


@pytest.mark.parametrize(("theirs", "seconds"), [(90.0, 10), (115.0, 12)])
def test_clocks_that_differ_are_a_problem(theirs: float, seconds: int) -> None:
    """Whatever time the answer took: here three seconds."""
    state, sentence, _ = only(system_checks.check_other_clock("Redis", 100.0, theirs, 103.0))

    assert (state, f" {seconds}\u00a0s." in sentence.replace("by ", "by  ")) == (State.PROBLEM, True)


@pytest.mark.parametrize("theirs", [95.5, 100.0, 107.5])
def test_clocks_may_differ_a_little(theirs: float) -> None:
    assert list(system_checks.check_other_clock("Redis", 100.0, theirs, 103.0)) == []


def test_services_that_answer_are_in_order() -> None:
    assert only(system_checks.check_postgresql(os.environ["DATABASE_URL"]))[0] == State.OK
    assert only(system_checks.check_redis(os.environ["REDIS_URL"]))[0] == State.OK


@pytest.mark.django_db
def test_migrations_that_are_missing_or_of_a_later_version_are_problems() -> None:
    applied = MigrationRecorder.Migration.objects.filter(app="quality")
    in_order = only(database_checks.check_migrations())
    applied.latest("pk").delete()
    missing = only(database_checks.check_migrations())
    MigrationRecorder.Migration.objects.create(app="quality", name="9999_of_the_future")
    later = only(database_checks.check_migrations())

    assert in_order == (State.OK, "All migrations are applied.", "")
    assert (missing[0], "the first is quality." in missing[1]) == (State.PROBLEM, True)
    assert (later[0], "quality.9999_of_the_future" in later[1]) == (State.PROBLEM, True)


@pytest.mark.django_db
def test_bots_that_do_not_fit_into_memory_are_a_problem() -> None:
    bot = register_bot(name="eliza", title="ELIZA", adapter="eliza")
    fits = only(database_checks.check_bot_memory())[0]
    Bot.objects.filter(pk=bot.pk).update(memory_bytes=10**15)
    state, sentence, cure = only(database_checks.check_bot_memory())
    Bot.objects.filter(pk=bot.pk).update(active=False)

    assert (fits, state) == (State.OK, State.PROBLEM)
    assert "need 1000000.0\u00a0GB of the" in sentence
    assert "TURNWISE_BOTS" in cure
    assert only(database_checks.check_bot_memory())[0] == State.OK


@pytest.mark.django_db
def test_a_bot_that_nobody_hosts_is_named() -> None:
    register_bot(name="eliza", title="ELIZA", adapter="eliza")
    Bot.objects.update(created_at="2020-01-01T00:00Z")  # a new one counts as loading for a while

    state, sentence, _ = only(database_checks.check_bots())

    assert (state, sentence.startswith("These bots do not answer: eliza (")) == (State.PROBLEM, True)


def test_a_check_that_fails_is_a_problem_and_the_others_still_run() -> None:
    def fails() -> Iterable[Finding]:
        raise RuntimeError("no such device\nand more")

    other = problem("other", "It is broken.", "Mend it.")
    first, second = run_checks([("disk", fails), ("other", lambda: [other])])

    assert (first.state, first.sentence) == (
        State.PROBLEM, "This check failed: RuntimeError: no such device.",
    )  # fmt: skip
    assert second == other
