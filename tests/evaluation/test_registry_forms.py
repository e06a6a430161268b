"""A plan in the layout of public registries: every field, what the plan says, and what is left to write."""

import json
from typing import Any

import pytest

from evaluation.report.publishing.preregistration import hash_of
from evaluation.report.publishing.registry_forms import AS_PREDICTED, as_predicted, osf


@pytest.fixture
def plan() -> dict[str, Any]:
    """A plan of two chatbots with a stopping rule."""
    bots = [
        {"bot": name, "title": name.title(), "adapter": "scripted", "fingerprint": f"f-{name}", "target": 100}
        for name in ("ann", "bob")
    ]
    rule = {
        "score": "ssa", "difference": 10.0, "equivalence": True, "planned": 80, "largest": 100,
        "first_look": 20, "compared": "all bots of the study",
    }  # fmt: skip
    return {
        "format": 1, "version": 1, "turnwise": "1", "frozen_at": "2026-01-01T00:00:00+00:00",
        "title": "Small\ntalk", "task": "conversation", "main_score": "SSA", "bots": bots,
        "asks": [
            {"question_set": "ssa", "title": "Sensible and specific", "about": "partner_turn", "sha256": "a1"}
        ],
        "stopping_rule": rule, "languages": ["en"], "instructions": "Talk.", "debriefing": "",
        "consent": "You agree.", "pay": "2.00 USD", "expected_minutes": 10,
        "protocol": {
            "blind": True, "primary_analysis": "all", "exclusion_rules": "Bots that answer.", "margin": None,
            "pilot_size": 5, "re_entry": "once", "factors": [],
        },
    }  # fmt: skip


def test_the_form_of_osf_has_its_fields_in_order_and_marks_what_is_left_to_write(
    plan: dict[str, Any],
) -> None:
    """Ids, titles and sections are those of the registry's schema, read on 2026-11-29: q2 to q23."""
    form = osf(plan)
    stored = json.loads(form.json())

    assert list(stored["responses"]) == [f"q{n}" for n in range(2, 24)]
    assert (stored["form"], stored["version"], stored["plan_sha256"]) == (
        "OSF Preregistration", 3, hash_of(plan),
    )  # fmt: skip
    assert stored["fields"]["q12"] == "Sample size rationale"
    assert stored["to_be_written"] == ["q2", "q5", "q7", "q10", "q12", "q19", "q22"]
    for key, text in stored["responses"].items():
        assert ("[To be written by you:" in text) == (key in stored["to_be_written"])
        assert text
    says = stored["responses"]
    assert says["q3"] == "Experiment."
    assert says["q4"] == "Participants do not know which chatbot they talk with."
    assert says["q8"] == "Registration prior to creation of data."
    assert says["q11"] == "Conversations with each chatbot: Ann: 100; Bob: 100."
    assert "at most 100, with no decision before 20" in says["q13"]
    assert "Bob (version f-bob)" in says["q14"]
    assert "SHA-256 of its declaration a1" in says["q15"]
    assert says["q20"] == "Bots that answer. The pilot of 5 participants is excluded."

    written = form.markdown()
    sections = [line for line in written.splitlines() if line.startswith("## ")]
    assert sections == [
        "## Study Information", "## Design Plan", "## Sampling Plan", "## Variables", "## Analysis Plan",
        "## Other",
    ]  # fmt: skip
    assert written.startswith("# Small talk\n")
    assert all(f"**{asked}**\n\n{says[key]}\n" in written for key, asked in stored["fields"].items())


def test_what_one_chatbot_without_a_rule_does_not_say_is_left_to_write(plan: dict[str, Any]) -> None:
    plan |= {"bots": plan["bots"][:1], "stopping_rule": None}
    plan["protocol"] |= {"blind": False, "re_entry": "up_to"}

    says = json.loads(osf(plan).json())["responses"]

    assert says["q3"].startswith("[To be written by you: the study type")
    assert says["q4"] == "No blinding is involved in this study."
    assert "several times" in says["q6"]
    assert says["q7"] == "Nothing is randomized."
    assert says["q12"].startswith("[To be written by you: power analysis")
    assert says["q13"] == "None: the study ends with the numbers above."


def test_the_nine_questions_of_aspredicted_as_markdown_and_json(plan: dict[str, Any]) -> None:
    form = as_predicted(plan)
    stored = json.loads(form.json())

    assert len(AS_PREDICTED) == 9
    assert list(stored["responses"]) == [str(n) for n in range(1, 10)]
    assert stored["to_be_written"] == ["2"]
    written = form.markdown()
    for n, asked in enumerate(AS_PREDICTED, 1):
        assert f"**{n}) {asked}**" in written
    assert stored["responses"]["9"] == "Small talk"
