"""Bots over time and beside other measures by any question set, not by one alone; charts to point at."""

import json
import re
from typing import Any

import pytest
from django.utils import timezone

from tests.comparisons.conftest import BOTH, NO, SENSIBLE, talk
from tests.conftest import MakeStudy, start_dialogue, worker_of
from tests.planted import SignIn, add_exchange, bot_of, computed
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.bots.models import BotVersion
from turnwise.bots.services import record_perplexity, version_of
from turnwise.comparisons import measures
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import seat_of
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db

RATED = AskSpec("likert", About.DIALOGUE, Moment.AT_END)


def plots(page: str) -> list[dict[str, Any]]:
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, flags=re.DOTALL)
    return [json.loads(each) for each in found]


def rated(study: Study, quality: int, *, release: int = 1) -> Dialogue:
    """A finished conversation that whoever talked rated as a whole; all else 4."""
    dialogue = start_dialogue(study)
    worker, version = worker_of(dialogue), version_of(bot_of(dialogue), {"release": release})
    add_exchange(dialogue, version, text="Well", latency=10)
    at = timezone.now()
    four = dict.fromkeys(("diversity", "fluency", "relatedness", "empathy"), 4)
    Label.objects.create(
        study=study, dialogue=dialogue, rater=worker, party=Party.CHATTER,
        ask=study.asks.get(question_set="likert"), question_set="likert",
        answers={"quality": quality, **four, "comment": ""}, created_at=at, changed_at=at,
    )  # fmt: skip
    Dialogue.objects.filter(pk=dialogue.pk).update(ending="complete", ended_at=at, due_1=[])
    assert seat_of(dialogue.public_id, worker.pk)
    return dialogue


@pytest.fixture
def ratings(make_study: MakeStudy) -> Study:
    return make_study({"ann": 9}, title="Ratings", asks=[RATED], min_turns=2, max_turns=8)


def test_a_bot_is_followed_by_ratings_of_whole_conversations(
    ratings: Study, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    for quality, release in ((2, 1), (4, 1), (7, 2)):
        rated(ratings, quality, release=release)

    page = sign_in(rex).get("/bots/ann/history/").content.decode()

    # Version 1: quality (2 + 4) / 2, sum (2 + 4 · 4 + 4 + 4 · 4) / 2; version 2: quality 7, sum 7 + 4 · 4.
    assert '<th scope="col">Quality</th>' in page
    drawn = plots(page)
    panels = [plot["panels"][0] for plot in drawn]
    # Each rating is from 1 to 7, their sum from 5 to 35.
    assert [(panel["low"], panel["high"]) for panel in panels] == [(1, 7), (1, 7), (5, 35)]
    assert {plot["axis"] for plot in drawn} == {"mean, points"}
    by_title = {
        line["name"]: [point["value"] for point in line["points"]]
        for panel in panels
        for line in panel["lines"]
    }
    assert by_title["Sum of the five"] == [19, 23]
    assert by_title["Quality"] == [3, 7]
    assert by_title["Diversity"] == [4, 4]
    assert "<strong>19.0</strong>" in page
    assert "<strong>23.0</strong>" in page
    assert "Percent" not in page


def test_one_of_several_question_sets_can_be_chosen(
    ratings: Study, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    rated(ratings, 5)
    talk(make_study({"ann": 9}, min_turns=2, max_turns=8), {"ann": [BOTH, NO]})
    client = sign_in(rex)

    by_default = client.get("/bots/ann/history/").content.decode()
    chosen = client.get("/bots/ann/history/?questions=likert").content.decode()

    assert '<option value="ssa" selected>' in by_default
    assert plots(by_default)[0]["axis"] == "percent of labels"
    assert '<option value="likert.dialogue" selected>' in chosen
    assert plots(chosen)[0]["axis"] == "mean, points"
    assert "Scores over time" in client.get("/bots/ann/history/?questions=nonsense").content.decode()
    picture = re.search(r'src="(/bots/ann/history/[^"]+)"', chosen)
    assert picture
    assert b"Quality" in client.get(picture[1].replace("&amp;", "&")).content


def test_ratings_against_human_likeness_show_no_published_results_of_other_sets(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    bots = {"ann": 9, "bob": 9, "cat": 9}
    ratings = make_study(bots, title="Ratings", asks=[RATED], min_turns=2, max_turns=8)
    human = make_study(bots, title="Human", question_set="human-likeness", min_turns=2, max_turns=8)
    planted = {"ann": (2, [True, False, False, False]), "bob": (4, [True, True, False, False]),
               "cat": (6, [True, True, True, False])}  # fmt: skip
    for _ in range(3):
        dialogue = rated(ratings, 1)
        quality = planted[bot_of(dialogue).name][0]
        label = dialogue.labels.get()
        label.answers["quality"] = quality
        with rewriting():
            label.save()
        talk(human, {bot: labels for bot, (_, labels) in planted.items()})

    page = sign_in(rex).get("/compare/human-likeness/?questions=likert").content.decode()

    # Quality 2, 4, 6 at 25, 50, 75 %: on a line, 0.08 points for each percent.
    plot = next(each for each in plots(page) if each["up"] == "Quality, points")
    assert [(each["across"]["value"], each["value"]) for each in plot["points"]] == [
        (25, 2),
        (50, 4),
        (75, 6),
    ]
    assert plot["fit"]["middle"][0] == pytest.approx(2)
    assert plot["fit"]["middle"][-1] == pytest.approx(6)
    assert (plot["ends_up"], plot["ends_across"]) == ([1, 7], [0, 100])
    assert "by <strong>0.08</strong> points" in page
    assert (
        "questions=likert.dialogue" in sign_in(rex).get("/compare/human-likeness/").content.decode()
    )  # its charts
    assert "the paper" not in page


@pytest.mark.django_db(transaction=True)
def test_marks_lead_to_the_conversations_behind_them(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study({"ann": 9}, title="Talk", min_turns=2, max_turns=8)
    talk(study, {"ann": [BOTH, SENSIBLE]})
    talk(study, {"ann": [NO, SENSIBLE]})
    computed(study)
    record_perplexity(BotVersion.objects.get(), perplexity=10, data="d", tokenizer="t", by=rex)
    client = sign_in(rex)

    (over_time,) = plots(client.get("/bots/ann/history/").content.decode())
    (beside,) = plots(client.get(f"/compare/?study={study.pk}").content.decode())
    relations = plots(client.get("/compare/perplexity/?published=yes").content.decode())
    report = plots(client.get(f"/studies/{study.pk}/report/").content.decode())

    assert over_time["panels"][0]["lines"][0]["points"][0]["href"] == (
        f"/studies/{study.pk}/dialogues/?bot=ann&score=0.ssa"
    )
    (row,) = beside["panels"][0]["rows"]
    assert row["marks"][0]["href"] == f"/studies/{study.pk}/report/"
    assert row["heading"] == "Talk"
    assert relations[0]["points"][0]["href"] == "/bots/ann/history/?questions=ssa"
    assert "Meena (base), paper" in {each["system"] for each in relations[0]["points"] if each["published"]}
    hrefs = {mark["href"] for mark in report[0]["panels"][0]["rows"][0]["marks"]}
    assert hrefs == {
        f"/studies/{study.pk}/dialogues/?bot=ann&score=0.{key}" for key in ("sensible", "specific", "ssa")
    }
    plane = next(each for each in report if each["kind"] == "scatter")
    (own,) = [each for each in plane["points"] if not each["published"]]
    assert (own["across"]["value"], own["value"]) == (25, 75)  # specific 1 of 4, sensible 3 of 4

    # What the link shows: the conversations by that score. Sensible: 2 of 2, and 1 of 2.
    listed = client.get(f"/studies/{study.pk}/dialogues/?bot=ann&score=0.sensible").content.decode()
    assert '<th scope="col" class="number">Sensibleness</th>' in listed
    assert re.findall(r'data-label="Sensibleness">([\d.]+)', listed) == ["50.0", "100.0"]
    few = client.get(f"/studies/{study.pk}/dialogues/?score=0.sensible&highest=60").content.decode()
    assert re.findall(r'data-label="Sensibleness">([\d.]+)', few) == ["50.0"]


def test_sets_are_sorted_by_title_before_they_are_cut(
    ratings: Study, make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_study({"bob": 9}, title="Human", question_set="human-likeness")
    monkeypatch.setattr(measures, "MOST_SETS", 1)

    # “Five ratings …” comes before “Human-likeness”, though its key comes after.
    assert [each.key for each in measures.offered_to(ratings.owner)] == ["likert"]
