"""Demo study of new installations: labels of people and of a machine judge, all of them made up.

The judge is planted: it gives the answer that each reply was written for, apart from a known share of slips,
as people do. So what it is worth is known beforehand (`SAVED_SHARE`), and the report can be compared with it.
"""

import hashlib
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from evaluation.machine_judges.imported import Columns
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version, save_set
from turnwise.crowd.entry import enrolment
from turnwise.judges.label_imports import services as label_imports
from turnwise.judges.label_imports.files import LabelTable
from turnwise.judging.items import subjects
from turnwise.judging.models import Item, JudgingPlan
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.labels.services import Timing
from turnwise.responses.models import ResponseRun
from turnwise.responses.services import store_file
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Ask, Study
from turnwise.studies.services import save_study, set_state

TITLE = "Demo: people and a machine judge (made-up labels)"
JUDGE = "Planted judge"
SET = "demo-machine-judge"
SYSTEMS = {"Demo bot A": 0.6, "Demo bot B": 0.4}
"""Share of replies of each system that make sense."""
RATERS, EACH = 20, 6
"""Raters, and replies that each of them judges."""
SLIPS_OF_PEOPLE, SLIPS_OF_JUDGE = 0.05, 0.06
SAVED_SHARE = 0.47
"""Share of people's labels that the judge saves about “makes sense”.

The truth of a system has the variance 0.6 · 0.4 = 0.24. Slips turn answers over, so the covariance of judge
and people is 0.24 (1 - 2 · 0.05) (1 - 2 · 0.06) = 0.19, and their correlation 0.19 / 0.242 = 0.785. People
judge about 60 of the 250 replies of each system: the judge explains 0.785² · 190 / 250 = 47 % of the
variance. A report mostly shows somewhat less, since it also allows for differences between raters.
"""

CONSENT = "Nobody takes part in this study: its labels are made up, to show a report with a machine judge."
_TOPICS = (
    "cooking", "hiking", "chess", "gardening", "old films", "jazz", "photography", "cycling", "painting",
    "tea", "football", "poetry", "trains", "baking bread", "sailing", "dogs", "winter", "museums",
    "board games", "swimming", "languages", "camping", "theatre", "coffee", "astronomy",
)  # fmt: skip
_OPENINGS = (
    "What do you think about {}?",
    "I spend most weekends with {}.",
    "My sister talks of nothing but {}.",
    "How did you get to know {}?",
    "I have never understood why people like {}.",
    "Do you have any advice about {}?",
    "I would like to know more about {}.",
    "Yesterday I read a long article about {}.",
    "Is there anything better than {}?",
    "I have given up {}, and I miss it.",
)
_SPECIFIC = "I have always liked {}: it takes my mind off work after a long day."
_GENERAL = "That is interesting. What makes you say that?"
_SENSELESS = "Because of {} the number seven is closed on it, and so am I under."


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply and the answers that it was written for."""

    text: str
    sensible: bool
    specific: bool

    def answers(self, slips: float, draw: random.Random) -> dict[str, bool]:
        """Answers of somebody who errs about a share of all replies."""
        sensible = self.sensible ^ (draw.random() < slips)
        return {"sensible": True, "specific": self.specific} if sensible else {"sensible": False}


@transaction.atomic
def create_demo_of_judges(owner: User) -> Study:
    """Create a closed study with labels of made-up people and of a planted machine judge."""
    study = Study(title=TITLE, task="judging", languages=["en"], expected_minutes=5, practice=False)
    asks = [AskSpec("ssa", About.RESPONSE)]
    save_study(study, owner=owner, consent_text=CONSENT, targets={}, asks=asks)
    subjects.save_plan(JudgingPlan(study=study, raters_per_item=1, batch_size=EACH))
    draw = random.Random(2401)
    replies = {system: list(_replies(share, draw)) for system, share in SYSTEMS.items()}
    subjects.add_responses(study, *_runs(replies, owner))
    study = set_state(study.pk, Study.State.OPEN)
    written = {each.text: each for of_system in replies.values() for each in of_system}
    for _ in range(RATERS):
        _judge(study, written, draw)
    _import_judge(study.asks.get(), written, owner, draw)
    return set_state(study.pk, Study.State.CLOSED)


def _contexts() -> Iterator[tuple[str, str]]:
    """Topic and text of each context."""
    for topic in _TOPICS:
        for opening in _OPENINGS:
            yield topic, opening.format(topic)


def _replies(sensible_share: float, draw: random.Random) -> Iterator[_Reply]:
    for topic, _text in _contexts():
        if draw.random() >= sensible_share:
            yield _Reply(_SENSELESS.format(topic), sensible=False, specific=False)
        elif draw.random() < 0.5:
            yield _Reply(_SPECIFIC.format(topic), sensible=True, specific=True)
        else:
            yield _Reply(_GENERAL, sensible=True, specific=False)


def _runs(replies: Mapping[str, list[_Reply]], owner: User) -> list[ResponseRun]:
    context_set = save_set(
        ContextSet(name=SET, title="Demo: what was said before", licence="CC0-1.0", owner=owner)
    )
    rows = [
        ContextRow(number, f"demo-{number}", (text,), topic, "en", False, "")
        for number, (topic, text) in enumerate(_contexts(), 1)
    ]
    version = import_version(context_set, rows, origin="Written for the demo study")
    contexts = list(version.contexts.order_by("position"))
    return [
        store_file(
            version,
            {(context.pk, 1): each.text for context, each in zip(contexts, of_system, strict=True)},
            system=system,
            owner=owner,
        )
        for system, of_system in replies.items()
    ]


def _judge(study: Study, written: Mapping[str, _Reply], draw: random.Random) -> None:
    """One more person judges a batch of the queue."""
    consent = study.consent_versions.last()
    assert consent
    participation = enrolment.consent(study, consent, known=None, arrival=None)
    batch = judging.begin(participation, language="en")
    session: RaterSession = judging.get_rater_session(batch.public_id, batch.worker_id)
    waiting = judging.state(session)["items"]
    while waiting:
        shown, *waiting = waiting
        answers = written[shown["text"]].answers(SLIPS_OF_PEOPLE, draw)
        timing = Timing(shown_ms=draw.randint(4_000, 9_000), answer_ms=draw.randint(4_000, 9_000))
        waiting += judging.judge(session, key=UUID(shown["key"]), answers=answers, timing=timing).leased
    judging.finish(session)


def _import_judge(ask: Ask, written: Mapping[str, _Reply], owner: User, draw: random.Random) -> None:
    """Import the planted judge's labels of all items, as those of a file."""
    items = Item.objects.filter(ask=ask).select_related("response").order_by("key")
    keys = ("sensible", "specific")
    rows: list[tuple[int, dict[str, Any]]] = []
    for line, item in enumerate(items, 2):
        assert item.response
        answers = written[item.response.text].answers(SLIPS_OF_JUDGE, draw)
        rows.append((line, {"item": str(item.key)} | {key: answers.get(key) for key in keys}))
    table = LabelTable(["item", *keys], rows)
    found = label_imports.read_table(ask, table, Columns("item", answers={key: key for key in keys}))
    sha256 = hashlib.sha256(repr(rows).encode()).hexdigest()
    label_imports.store(
        ask, found, title=JUDGE, file_name="planted-judge.csv", sha256=sha256, by=owner, now=timezone.now()
    )
