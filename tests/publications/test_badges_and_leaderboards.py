"""Badges of published scores, and leaderboards of studies with the same protocol."""

import json
import re
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

import pytest
from django.test import Client

from evaluation.questions import question_set
from tests.conftest import MakePairs, MakeQueue, MakeStudy
from tests.desks import OPEN, begin, judge
from tests.planted import computed, talked
from tests.publications.conftest import Publish
from turnwise.accounts.models import User
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.publications.badge import NoBadgeError, badge
from turnwise.publications.models import Publication, PublishedVersion
from turnwise.questions.services import add_version, create_set
from turnwise.studies.models import Study

SVG = "{http://www.w3.org/2000/svg}"


KIND: dict[str, Any] = OPEN | {
    "key": "kindness", "title": "Kindness", "subjects": ["response"],
    "questions": [OPEN["questions"][0] | {"key": "kind", "wording": "Is it kind?"}],
}  # fmt: skip
SSA_TITLE = question_set("ssa").title


def board_questions() -> set[str]:
    """What the line under each board's heading says of its questions, as it is read."""
    page = Client().get("/leaderboards/").content.decode()
    lines = re.findall(r'<p class="soft" id="about-\d+">(.*?) · ', page)
    return {re.sub(r"<[^>]+>", "", each) for each in lines}


def results(cells: dict[str, dict[str, Any]]) -> dict[str, Any]:
    ask = {
        "headline": "ssa", "level": 0.95, "preferences": [],
        "columns": [{"key": "ssa", "title": "SSA", "percent": True}],
        "bots": [{"bot": bot, "cells": [cell]} for bot, cell in cells.items()],
    }  # fmt: skip
    return {"results": {"asks": [ask]}}


def texts(drawn: str) -> list[str]:
    return [each.text or "" for each in ElementTree.fromstring(drawn).iter(f"{SVG}text")]


def test_a_badge_says_score_and_interval() -> None:
    drawn = badge(results({"Meena": {"value": 72.4, "low": 65.8, "high": 78.1}}))

    assert texts(drawn) == ["SSA", "72\u00a0% [66, 78]"]
    root = ElementTree.fromstring(drawn)
    title = root.find(f"{SVG}title")
    assert title is not None
    assert title.text == "SSA of Meena: 72\u00a0% [66, 78], 95\u00a0% interval in brackets"
    assert root.get("aria-label") == title.text


def test_a_badge_of_several_names_its_system_and_is_the_best_one_s_by_default() -> None:
    two = results({"A<b>": {"value": 60.0}, "B": {"value": 70.0, "low": 60.0, "high": 80.0}})

    assert texts(badge(two)) == ["B · SSA", "70\u00a0% [60, 80]"]
    assert texts(badge(two, "A<b>")) == ["A<b> · SSA", "60\u00a0%"]
    with pytest.raises(NoBadgeError, match=r"No system is called “C”\. There are: B, A<b>"):
        badge(two, "C")
    with pytest.raises(NoBadgeError, match="no main score"):
        badge(results({}))


@pytest.mark.django_db(transaction=True)
def test_a_leaderboard_has_the_blocks_of_studies_with_the_same_protocol(
    judged: Study, published: Publish, make_study: MakeStudy
) -> None:
    first = published(judged, address="first", in_leaderboard="on")
    other = make_study({"third": 5, "fourth": 5}, title="Second study", min_turns=2, max_turns=8)
    own = make_study({"fifth": 5}, title="Own design", protocol="", min_turns=2, max_turns=8)
    for study in (other, own):
        for _ in range(4):
            talked(study, [(True, True), (False, False)])
        computed(study)
    published(other, address="second", title="Second <study>", in_leaderboard="on")
    published(own, address="own", in_leaderboard="on")
    reader = Client()

    page = reader.get("/leaderboards/").content.decode()

    assert page.count("<h2") == 1
    assert "Second &lt;study&gt;" in page
    assert page.index("Second &lt;study&gt;") < page.index("Two bots")  # newest first, not best first
    assert "no order of systems of different studies is claimed" in page
    assert "/published/own/" not in page  # it follows no protocol
    rank = json.loads(first.snapshot)["results"]["asks"][0]["bots"][0]["rank"]
    assert rank == {"best": 1, "worst": 2}
    assert "1 to 2" in page
    assert "On one scale" not in page
    assert "Scores of these studies are not linked, since none of them judged anchors." in page
    Publication.objects.filter(slug="second").update(in_leaderboard=False)
    page = reader.get("/leaderboards/").content.decode()
    assert "not linked" not in page  # of one study alone
    assert "Second &lt;study&gt;" not in page
    assert reader.get("/leaderboards/?page=x").status_code == 200


@pytest.mark.django_db(transaction=True)
def test_boards_with_the_same_heading_name_the_versions_of_their_questions(
    make_queue: MakeQueue, published: Publish, rex: User
) -> None:
    first = create_set(KIND, owner=rex)
    second = add_version(first.own_set_id, KIND | {"source": "our own, revised"}, by=rex)
    expected = (
        {"Kindness"}, {"Kindness (kindness-v1)", "Kindness (kindness-v2)"},
        {"Kindness (kindness-v1)", "Kindness (kindness-v2)", SSA_TITLE},
    )  # fmt: skip

    for number, key in enumerate((first.key, second.key, "ssa")):
        study = make_queue(3, raters=1, question_set=key, system=f"System {number}", title=f"Study {number}")
        answers = {"sensible": False} if key == "ssa" else {"kind": True}
        judge(study, dict.fromkeys(Item.objects.filter(study=study), answers).__getitem__)
        computed(study)
        version = published(study, address=f"study-{number}", title=study.title, in_leaderboard="on")

        assert board_questions() == expected[number]

    # A release that changes a set leaves its key: then the hashes tell the boards apart.
    earlier = PublishedVersion.objects.get(publication__slug="study-0")
    changed = json.loads(earlier.snapshot)
    hashes = changed["question_sets"][0]["sha256"], json.loads(version.snapshot)["question_sets"][0]["sha256"]
    changed["question_sets"][0] |= {"key": "ssa", "title": SSA_TITLE}
    PublishedVersion.objects.filter(pk=earlier.pk).update(snapshot=json.dumps(changed), sha256="0" * 64)
    assert board_questions() == {"Kindness", *(f"{SSA_TITLE} (ssa, {each[:8]})" for each in hashes)}


@pytest.mark.django_db(transaction=True)
def test_pairs_are_published_with_ranks_and_a_badge(make_pairs: MakePairs, published: Publish) -> None:
    study = make_pairs(12, ("Alpha", "Beta"), raters=3, question_set="preference")
    for _ in range(3):
        desk = begin(study)
        while items := judging.state(desk)["items"]:
            is_first = "Alpha" in items[0]["sides"][0]["texts"][0]
            is_liked = "c1" not in items[0]["sides"][0]["texts"][0]
            liked = "first" if is_first == is_liked else "second"
            judging.judge(desk, key=UUID(items[0]["key"]), answers={"better": liked})
    computed(study)

    published(study, address="pairs", rows="bot_texts", in_leaderboard="on")

    reader = Client()
    page = reader.get("/published/pairs/").content.decode()
    assert "Lead, points" in page
    assert "Beta" in page
    results = reader.get("/published/pairs/results.json").json()["results"]["asks"][0]
    assert results["preferences"][0]["meetings"][0]["labels"] == 36
    best = max(results["preferences"][0]["strengths"]["bots"], key=lambda bot: bot["value"])
    assert set(best["rank"]) == {"best", "worst"}
    drawn = texts(reader.get("/published/pairs/badge.svg").content.decode())
    assert drawn[0] == f"{best['bot']} · strength"
    shown = f"{best['value']:.2f} [{best['low']:.2f}, {best['high']:.2f}] · rank 1 to 2"
    assert drawn[1] == shown.replace("-", "\u2212")
    assert "Log-odds, with their 90\u00a0% interval" in reader.get("/leaderboards/").content.decode()
