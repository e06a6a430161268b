"""A report with every fold open, those of the menu among them: nothing is wider than a phone or flawed."""

from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import expect

from tests.asking import LIKENESS, SCALES, SSA, asking, judging_both
from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy
from tests.desks import begin, judge
from tests.judging.test_anchors import by_rater
from tests.planted import computed, talked
from tests.questionnaires.test_path import FINE, HOW, OLD_HAND, WHO
from tests.questionnaires.test_path import SSA as EACH_REPLY
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.judging.anchors import packs, study_anchors
from turnwise.judging.anchors.packs import Choice
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.questionnaires.services import save_answers
from turnwise.studies.asks import Moment
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OPEN_ALL = "document.querySelectorAll('details').forEach(each => { each.open = true })"
HEADINGS = "[...document.querySelectorAll('summary')].map(each => each.textContent.trim())"


async def opened(visitor: Visitor, study: Study) -> str:
    """Open every fold of the study's report; returns the folds' headings, one a line."""
    await visitor.go(f"/studies/{study.pk}/report/")
    await visitor.page.evaluate(OPEN_ALL)
    return "\n".join(await visitor.page.evaluate(HEADINGS))


async def test_reports_of_judging_fit_a_phone_with_every_fold_open(
    visit: Visit, rex: User, make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun,
    make_study: MakeStudy,
) -> None:  # fmt: skip
    anchored = await sync_to_async(_of_responses)(rex, make_queue, make_contexts, make_run)
    of_turns = await sync_to_async(_of_conversations)(make_study)
    visitor = await visit(viewport={"width": 320, "height": 800})
    await visitor.sign_in(rex)

    folds = await opened(visitor, anchored)
    assert "models of raters" in folds
    assert "each rater and each anchor" in folds
    for text in ("Odds ratio", "Before and after adjudication"):
        await expect(visitor.page.get_by_text(text).first).to_be_attached()
    assert await visitor.flaws_at(320) == []

    assert "Five ratings" in await opened(visitor, of_turns)
    assert await visitor.flaws_at(320) == []


async def test_a_report_of_conversations_fits_a_phone_with_every_fold_open(
    visit: Visit, rex: User, make_study: MakeStudy
) -> None:
    talks = await sync_to_async(_with_questionnaires)(make_study)
    visitor = await visit(viewport={"width": 320, "height": 800})
    await visitor.sign_in(rex)

    folds = await opened(visitor, talks)
    assert "Course of the conversations" in folds
    assert folds.count("Read the answers") == 2
    assert await visitor.flaws_at(320) == []


def _answers(item: Item, rater: int) -> dict[str, object]:
    """Raters disagree a little, so that scores, agreement and models of raters all have values."""
    about = item.ask.question_set
    if about == "ssa":
        sensible = (item.pk + rater) % 4 > 0
        return {"sensible": sensible, **({"specific": item.pk % 3 > 0} if sensible else {})}
    if about == "human-likeness":
        return {"human_like": (item.pk + rater) % 3 > 0}
    return dict.fromkeys(SCALES, 1 + (item.pk + rater) % 5)


def _judged(study: Study, raters: int) -> Study:
    for rater in range(raters):
        desk = begin(study)
        while shown := judging.state(desk)["items"]:
            item = Item.objects.select_related("ask").get(key=shown[0]["key"])
            judging.judge(desk, key=UUID(shown[0]["key"]), answers=_answers(item, rater))
    computed(study)
    return study


def _of_responses(rex: User, make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Three systems, two sets of questions, declared adjudication, and anchors of an earlier study."""
    earlier = make_queue(12, raters=3, title="First wave")
    for rater in range(3):
        judge(earlier, by_rater(rater, 0))
    earlier = set_state(earlier.pk, Study.State.CLOSED)
    choice = Choice("Wave 1", "ssa", "sensible", 6)
    pack = packs.make_pack(earlier, choice, owner=rex, seed=1, now=timezone.now())
    study = asking(rex, SSA, LIKENESS, raters=3, batch=60, adjudication_steps=1)
    contexts = make_contexts(6)
    for system in ("Alpha", "Beta", "Gamma-3.5-turbo-instruct-0125"):
        subjects.add_responses(study, make_run(contexts, system))
    study_anchors.add_pack(study, pack)
    return _judged(set_state(study.pk, Study.State.OPEN), 3)


def _conversations(make_study: MakeStudy, **fields: Any) -> Study:
    talks = make_study({"ann": 9, "bob": 9}, min_turns=2, max_turns=8, **fields)
    for n in range(6):
        talked(talks, [((n + k) % 4 > 0, (n + k) % 3 > 0 and (n + k) % 4 > 0) for k in range(3)])
    return talks


def _with_questionnaires(make_study: MakeStudy) -> Study:
    """Conversations of people who wrote two answers about themselves."""
    talks = _conversations(make_study, asks=[EACH_REPLY, WHO, HOW])
    for each in Participation.objects.filter(study=talks):
        save_answers(each, Moment.BEFORE_WORK, {"demographics": {"answers": OLD_HAND}})
        save_answers(each, Moment.AFTER_WORK, {"feedback": {"answers": FINE}})
    computed(talks)
    return talks


def _of_conversations(make_study: MakeStudy) -> Study:
    """Replies of two systems and whole conversations, which bring outcomes, tokens and ordinal scales."""
    return _judged(judging_both(_conversations(make_study), raters=3), 3)
