"""Health checks of single programs, where nothing answers; `tests/deploy` has those that do."""

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from turnwise.project.supervision.probe import is_fresh, main, runs


def test_a_file_is_fresh_until_its_age(tmp_path: Path) -> None:
    schedule = tmp_path / "schedule.db"
    schedule.touch()
    assert is_fresh(str(tmp_path / "schedule"), 60) == ""

    os.utime(schedule, (0, 0))
    assert is_fresh(str(tmp_path / "schedule"), 60).endswith("was not written in the last 60 seconds.")


def test_a_process_is_found_by_its_command() -> None:
    assert runs("pytest") == ""


@pytest.mark.parametrize(
    "command",
    [
        lambda port: ["http", f"127.0.0.1:{port}"],
        lambda port: ["uwsgi", f"127.0.0.1:{port}"],
        lambda _: ["process", "no.such.program"],
        lambda _: ["fresh", "/nowhere/schedule", "60"],
    ],
)
def test_what_does_not_answer_fails_with_a_sentence(
    command: Callable[[int], list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    monkeypatch.setattr(sys, "argv", ["probe", *command(port)])

    assert main() == 1
    assert capsys.readouterr().err.strip().endswith(".")
