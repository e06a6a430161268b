"""docs/papers.md and `turnwise papers` against their declaration, and that against what it names."""

import json
import re
import sys
from pathlib import Path

import pytest

import chatbots.__main__
import evaluation.__main__
from evaluation.protocols import protocols
from turnwise.project.papers.declarations import PAPERS, State
from turnwise.project.papers.program import COMPUTATIONS, main, markdown

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = {"chatbots": chatbots.__main__.main, "evaluation": evaluation.__main__.main}
ENTRIES = [entry for paper in PAPERS for entry in paper.entries]


def test_the_page_is_made_from_the_declaration() -> None:
    assert (DOCS / "papers.md").read_text("utf-8") == markdown(), (
        "turnwise papers --markdown > docs/papers.md"
    )


def test_every_entry_says_how_or_why_not() -> None:
    assert [entry.name for entry in ENTRIES if entry.state == State.NOT and not entry.note] == []
    assert [entry.name for entry in ENTRIES if bool(entry.how) != (entry.state != State.NOT)] == []
    assert {entry.figure for entry in ENTRIES} - {""} == set(COMPUTATIONS)


def test_every_command_and_preset_exists() -> None:
    parts = {part for entry in ENTRIES for part in entry.how.split("; ")}
    presets = {preset for part in parts for preset in re.findall("“(.+?)”", part)}
    assert presets <= {protocol.title for protocol in protocols().values()}
    for program, *words in {tuple(part.split()[1:]) for part in parts if part.startswith("turnwise ")}:
        with pytest.raises(SystemExit) as ended:
            PROGRAMS[program]([*words, "--help"])
        assert ended.value.code == 0, (program, *words)


def test_the_command_prints_one_paper_for_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["r-u-a-robot", "--json"]) == 0

    (paper,) = json.loads(capsys.readouterr().out)
    assert {entry["state"] for entry in paper["entries"]} <= set(State)
    (replies,) = [entry for entry in paper["entries"] if entry["name"] == "Table 2"]
    assert "Amazon Alexa 15, Google Assistant 35" in replies["figure"]  # sums of the printed kinds


def test_an_unknown_paper_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["maena"])

    assert "choose from" in capsys.readouterr().err


def test_without_the_models_the_command_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # as where it is not installed
    monkeypatch.delitem(sys.modules, "chatbots.meena.model", raising=False)

    assert main([]) == 0
    assert "computed now: not here, as torch is not installed: pip install" in capsys.readouterr().out
