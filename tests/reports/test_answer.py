"""The answer at the top of a report in each case, and the paragraph for a paper."""

import re
from typing import Any

import pytest
from django.template.loader import render_to_string

from evaluation.files.writing import figure, p_value, percent, signed
from evaluation.report.publishing.latex import tables
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, figures, talked
from turnwise.bots.models import Bot
from turnwise.reports.descriptions import method
from turnwise.studies.models import Study

TWO: dict[str, Any] = {
    "score": "SSA", "percent": True, "systems": 2, "noun": "conversation", "leader": "Ann", "next": "Bob",
    "difference": 12.04, "low": 4.0, "high": 20.0, "p": 0.004, "certain": True, "more": None,
}  # fmt: skip
OPEN = TWO | {"low": -3.26, "p": 0.2, "certain": False, "more": 41}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (TWO, "Ann leads Bob by 12.0 points of SSA (4.0 to 20.0): statistically clear."),
        (
            OPEN,
            "Not yet clear: Ann is ahead of Bob by 12.0 points of SSA (\N{MINUS SIGN}3.3 to 20.0). About "
            "41 more conversations with each would show such a difference.",
        ),
        (
            OPEN | {"low": 1.9, "systems": 4},
            "Not yet clear over all pairs: Ann is ahead of Bob by 12.0 points of SSA (1.9 to 20.0 for this",
        ),
        (OPEN | {"noun": "context", "more": 1}, "About 1 more context would show such a difference."),
        (
            OPEN | {"more": None},
            "Not clear: Ann and Bob are 12.0 points of SSA apart (\N{MINUS SIGN}3.3 to 20.0), too close "
            "for any sensible number of conversations to tell.",
        ),
        (OPEN | {"more": None, "noun": "context"}, "too close for any sensible number of contexts to tell."),
        (
            OPEN | {"difference": 0.04, "low": -8.0, "high": 8.0, "more": 22_000},
            "Not clear: Ann and Bob are level by SSA (\N{MINUS SIGN}8.0 to 8.0).",
        ),
        (OPEN | {"low": None, "more": None}, "Ann is ahead of Bob by 12.0 points of SSA, and there"),
        (OPEN | {"low": None, "more": None, "difference": 0.0}, "Ann and Bob are level by SSA, and there"),
        (
            {"score": "SSA", "leader": "Ann", "value": 75.0, "low": 61.1, "high": 85.2},
            "Ann scores 75.0 (61.1 to 85.2) by SSA.",
        ),
        ({"score": "SSA", "leader": "Ann", "value": 75.0}, "is unknown."),
    ],
)
def test_the_answer_says_what_the_data_show(answer: dict[str, Any], said: str) -> None:
    html = render_to_string("reports/parts/answer.html", {"answer": answer})

    assert said in " ".join(re.sub(r"<[^>]+>", "", html).split())


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (OPEN, "Not clear: Ann is ahead of Bob by 12.0 points of SSA (\N{MINUS SIGN}3.3 to 20.0)."),
        (OPEN | {"low": 1.9}, "Not clear over all pairs: Ann is ahead of Bob by 12.0 points of SSA (1.9"),
        (OPEN, "About 41 more conversations with each would have shown such a difference."),
        (OPEN | {"noun": "context", "more": 1}, "About 1 more context would have shown such a difference."),
    ],
)
def test_the_answer_of_a_closed_study_expects_no_more_data(answer: dict[str, Any], said: str) -> None:
    told = {"answer": answer, "study": Study(state=Study.State.CLOSED)}
    shown = " ".join(re.sub(r"<[^>]+>", "", render_to_string("reports/parts/answer.html", told)).split())

    assert said in shown
    for not_said in ("yet", "would show"):
        assert not_said not in shown


@pytest.mark.parametrize(
    ("answer", "ends", "said", "not_said"),
    [
        (TWO, (-3.1, 27.2), "It includes 0, so this lead is no reason to stop early", "excludes 0"),
        (TWO, (1.2, 22.0), "It excludes 0, too: the lead is clear even so.", "includes 0"),
        (OPEN, (-8.0, 31.0), "It holds however often you look", "cludes 0"),
    ],
)
def test_a_clear_lead_names_its_condition_and_the_always_valid_interval(
    answer: dict[str, Any], ends: tuple[float, float], said: str, not_said: str
) -> None:
    watched = {"low": ends[0], "high": ends[1], "units": 58, "unit": "conversation", "left_out": 0}
    result = {"answer": answer, "always_valid": watched, "level": 0.95, "primary": "all"}

    html = render_to_string("reports/parts/answered.html", {"result": result})

    words = " ".join(re.sub(r"<[^>]+>", "", html).split())
    when = "Clear at the level of 95 %, if you planned the size of the study and read its result once"
    assert (when in words) == answer["certain"]
    assert "may stop it early, use the sequential (always-valid) interval of the lead" in words
    assert said in words
    assert not_said not in words


HALF = "7 of 14 conversations finished"
OF_ONE_LOOK = (
    f"so far: statistically clear (if you looked once). The study still runs, with {HALF}. If you look often"
)
OF_EVERY_LOOK = (
    f"): statistically clear. The study still runs, with {HALF}. The lead is clear however often you look."
)
INCLUDES_0, EXCLUDES_0 = {"low": -3.1, "high": 27.2}, {"low": 1.2, "high": 22.0}


@pytest.mark.parametrize(
    ("answer", "watched", "said"),
    [
        (TWO, INCLUDES_0, OF_ONE_LOOK),
        (TWO, {"undefined": "Fewer than two."}, OF_ONE_LOOK),
        (TWO, EXCLUDES_0, OF_EVERY_LOOK),
        (OPEN | {"equivalent": True}, INCLUDES_0, "If you look often, such findings also appear by chance."),
        (OPEN, INCLUDES_0, "would show such a difference."),
    ],
)
def test_a_finding_of_a_running_study_says_its_progress_and_warns_of_frequent_looks(
    answer: dict[str, Any], watched: dict[str, Any], said: str
) -> None:
    def shown(filling: str) -> str:
        told = {"answer": answer, "watched": watched, "filling": filling}
        return " ".join(re.sub(r"<[^>]+>", "", render_to_string("reports/parts/answer.html", told)).split())

    assert said in shown(HALF)
    assert ("If you look often" in said) == ("If you look often" in shown(HALF))
    for not_said in ("so far", "looked once", "still runs"):
        assert not_said not in shown("")


def test_the_progress_of_a_running_study_is_shown_once_for_both_analyses() -> None:
    watched = INCLUDES_0 | {"units": 7, "unit": "conversation", "left_out": 0}
    parts = {"answer": TWO, "always_valid": watched}
    result = parts | {"level": 0.95, "primary": "all", "other": parts}

    html = render_to_string("reports/parts/answered.html", {"result": result, "filling": HALF})

    assert html.count("statistically clear (if you looked once)") == 2
    assert html.count("The study still runs") == 1


def test_names_of_bots_are_escaped() -> None:
    html = render_to_string("reports/parts/answer.html", {"answer": TWO | {"leader": "<script>"}})

    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_the_common_basis_of_all_intervals_is_shown_once() -> None:
    def said(*bases: str) -> str:
        bots = [{"bot": f"Bot {n}", "cells": 2 * [{"rests_on": basis}]} for n, basis in enumerate(bases)]
        html = render_to_string("reports/parts/no_interval.html", {"result": {"bots": bots}})
        return " ".join(re.sub(r"<[^>]+>", " ", html).split())

    assert said("Of both.", "Of both.") == "Of both."
    assert said("Of both.", "Of one.", "Of both.") == "Bot 0, Bot 2: Of both. Bot 1: Of one."


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (figure(-3.25, 1), "\N{MINUS SIGN}3.2"),
        (figure(-0.04), "0.0"),
        (signed(4), "+4.0"),
        (signed(-4), "\N{MINUS SIGN}4.0"),
        (signed(0.01), "0.0"),
        (p_value(0.00002), "< 0.001"),
        (p_value(0.0123), "0.012"),
        (p_value(None), "unknown"),
        (percent(0.95), "95\u00a0%"),
    ],
)
def test_numbers_are_formatted_as_in_papers(shown: str, printed: str) -> None:
    assert shown == printed


@pytest.mark.django_db(transaction=True)
class TestOfAStudy:
    @pytest.fixture
    def reported(self, make_study: MakeStudy) -> Study:
        study = make_study({"ann": 9, "bob": 9}, min_turns=2, max_turns=8, opening_text="Hi {you} 100%!")
        Bot.objects.filter(name="ann").update(title="R&D_{1}")
        for n in range(12):
            talked(study, [(True, n % 2 == 0), (n % 2 == 0 or n % 3 == 0, False)])
        computed(study)
        return study

    def test_the_page_begins_with_the_answer_of_the_stored_report(
        self, reported: Study, sign_in: SignIn
    ) -> None:
        result = figures(reported.reports.get())
        page = sign_in(reported.owner).get(f"/studies/{reported.pk}/report/").content.decode()

        answer = result["answer"]
        assert page.index('class="answer"') < page.index("<svg xmlns") < page.index('id="results"')
        assert f"{figure(answer['low'])} to {figure(answer['high'])}" in page
        # The lead is that of the headline's comparison, whichever way that is stored.
        ssa = next(each for each in result["comparisons"] if each["score"] == "ssa")
        assert answer["difference"] == abs(ssa["difference"])
        assert answer["leader"] == (ssa["first"] if ssa["difference"] > 0 else ssa["second"])
        watched = result["always_valid"]
        assert (watched["units"], watched["unit"], watched["left_out"]) == (6, "conversation", 0)
        assert watched["low"] <= answer["difference"] <= watched["high"]

    def test_every_section_of_the_index_is_there(self, reported: Study, sign_in: SignIn) -> None:
        page = sign_in(reported.owner).get(f"/studies/{reported.pk}/report/").content.decode()

        index = re.search(r'<nav class="index".*?</nav>', page, re.DOTALL)
        assert index
        named = re.findall(r'href="#(\w+)"', index.group())
        assert named == ["results", "differences", "course", "workers", "quality", "method"]
        assert re.findall(r'<section id="(\w+)"', page) == named

    def test_each_sentence_of_a_difference_names_its_score(self, reported: Study, sign_in: SignIn) -> None:
        page = sign_in(reported.owner).get(f"/studies/{reported.pk}/report/").content.decode()

        for score in ("Sensibleness", "Specificity", "SSA"):
            assert f"<li><strong>{score}</strong>: " in page

    def test_the_paragraph_describes_the_study_and_escapes_latex_commands(self, reported: Study) -> None:
        result = figures(reported.reports.get())
        told = method(reported, result)

        assert "12 workers gave 24 labels of 2 systems (Bob, R&D_{1})." in told.text
        assert "Conversations scored: Bob, 6; R&D_{1}, 6." in told.text
        assert "languages: English; pay: none." in told.text
        assert "Hi {you} 100%!" in told.text
        assert "The primary analysis, declared before the study opened, counts all workers." in told.text
        assert r"R\&D\_\{1\}" in told.latex
        assert r"Hi \{you\} 100\%!" in told.latex
        cited = set(re.findall(r"\\cite\{(\w+)\}", told.latex))
        assert cited == set(re.findall(r"@\w+\{(\w+),", told.bibtex)) != set()
        contexts = {"items": 4, "fewest_words": 11, "short": 0, "unknown": 0}
        for unknown, says in (0, "none has unknown words."), (1, "1 of 4 items have one with unknown words."):
            of = result | {"contexts": contexts | {"unknown": unknown}}
            assert f"Contexts have at least 11 words, and {says}" in method(reported, of).text
        assert set(tables(result)) == {"scores", "comparisons", "by-reply", "agreement", "course"}
