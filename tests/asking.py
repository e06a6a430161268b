"""Judging studies that ask readers several things."""

from typing import Any
from uuid import UUID

from tests.conftest import MakeRun
from tests.desks import held
from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSetVersion
from turnwise.judging.items import subjects
from turnwise.judging.models import Item, JudgingPlan
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state

SSA, LIKENESS, LIKERT = (
    AskSpec("ssa", About.RESPONSE),
    AskSpec("human-likeness", About.RESPONSE),
    AskSpec("likert", About.DIALOGUE),
)  # fmt: skip
SCALES = ("quality", "diversity", "fluency", "relatedness", "empathy")
ANSWERS: dict[str, dict[str, Any]] = {
    "ssa": {"sensible": True, "specific": False},
    "human-likeness": {"human_like": True},
    "likert": dict.fromkeys(SCALES, 4),
}


def asking(
    owner: User, *asks: AskSpec, raters: int = 2, batch: int = 50, task: str = "judging", **plan: Any
) -> Study:
    """A draft that asks readers this, with an empty queue."""
    study = Study(title="Judge both", task=task, languages=["en"], practice=False)
    save_study(study, owner=owner, consent_text="You judge.", targets={}, asks=asks)
    subjects.save_plan(JudgingPlan(study=study, raters_per_item=raters, batch_size=batch, **plan))
    return study


def judging_both(talks: Study, *, raters: int = 2, batch: int = 50) -> Study:
    """Open: the replies of these conversations are judged with SSA, the whole of them with five scales."""
    study = asking(talks.owner, SSA, LIKERT, raters=raters, batch=batch)
    subjects.add_turns(study, talks, language="en")
    subjects.add_dialogues(study, talks, language="en")
    return set_state(study.pk, Study.State.OPEN)


def judging_with_two_sets(owner: User, contexts: ContextSetVersion, make_run: MakeRun) -> Study:
    """Open: two sets of questions about what two systems respond to these contexts."""
    study = asking(owner, SSA, LIKENESS)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    return set_state(study.pk, Study.State.OPEN)


def judge_all(desk: RaterSession, answers: dict[str, dict[str, Any]] = ANSWERS) -> list[Item]:
    """Judge until nothing is before this worker, each item by its own questions; the items in their order."""
    done = []
    while keys := held(desk):
        item = Item.objects.select_related("ask").get(slots__batch=desk.batch_id, slots__key=keys[0])
        judging.judge(desk, key=UUID(keys[0]), answers=answers[item.ask.question_set])
        done.append(item)
    return done
