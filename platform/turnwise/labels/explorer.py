"""Finding conversations of a study: what a list is narrowed to, and which of them come next.

Whatever needs labels or texts is looked for in so many conversations at a time, the newest first, so that a
study of a hundred thousand is as quick as a small one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import (
    BooleanField,
    Exists,
    F,
    FloatField,
    IntegerField,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from evaluation.questions import QuestionSet, Score
from evaluation.report.figures import coded_questions
from turnwise.bots.models import Bot
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue, Fault, Seat, Turn
from turnwise.labels.queries import score_column
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Study

PER_PAGE = 50
LOOKED_THROUGH = 500
MOST_COUNTED = 10_000
NEWEST_FIRST = ("-started_at", "-pk")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a list of conversations is narrowed to; what is empty narrows nothing.

    Attributes:
        text: said in it, in capitals or not.
        bot: whom they talked with.
        worker: pseudonym or panel id of who talked.
        state: an ending, "open", or "excluded": whose worker is excluded.
        score: which of the study's scores is shown, and must be there, as `score_key` names it; empty: the
            first ask's main one, there or not.
        lowest, highest: bounds of its score.
        faults: only where a reply failed.
        disputed: only where most readers gave another answer than whoever talked.
        replies: fewest replies that it has.
        panel_ids: whether the worker may be named by what a panel calls them.
    """

    text: str = ""
    bot: Bot | None = None
    worker: str = ""
    state: str = ""
    score: str = ""
    lowest: float | None = None
    highest: float | None = None
    faults: bool = False
    disputed: bool = False
    replies: int | None = None
    panel_ids: bool = True

    @property
    def is_slow(self) -> bool:
        """Whether labels or texts must be read to tell."""
        return bool(self.text or self.disputed) or self.is_by_score

    @property
    def is_by_score(self) -> bool:
        """Whether those that have no such score are left out."""
        return bool(self.score) or (self.lowest, self.highest) != (None, None)


@dataclass(slots=True)
class Found:
    """A page of conversations.

    Attributes:
        rows: the conversations, newest first.
        older: where the next page begins: after this conversation; None at the end.
        looked_through: how many had to be read for it; 0: none had to.
        total: how many there are by what is quick to tell, or one more than MOST_COUNTED.
        scoreless: how many of those looked through were left out because they have no such score.
    """

    rows: list[Dialogue] = field(default_factory=list)
    older: UUID | None = None
    looked_through: int = 0
    total: int = 0
    scoreless: int = 0


# Of a conversation: the answers to its study's first questions, by those who talked or by others.
_TURNS = (
    "labels_label AS l JOIN dialogues_turn AS t ON t.id = l.turn_id AND t.dialogue_id = dialogues_dialogue.id"
)
_WHOLE = "(SELECT * FROM labels_label AS w WHERE w.dialogue_id = dialogues_dialogue.id) AS l"
_OWN = "l.party <> 'reader' AND l.study_id = dialogues_dialogue.study_id"
_READ = """l.party = 'reader'
   AND l.study_id NOT IN (SELECT s.id FROM studies_study AS s WHERE s.rehearsal_of_id IS NOT NULL)"""
_MEAN = "SELECT avg({number}) FROM {labels} WHERE l.question_set = %s AND {whose}"
_FAULTS = RawSQL(
    "SELECT count(*) FROM dialogues_fault AS f WHERE f.dialogue_id = dialogues_dialogue.id",
    [],
    IntegerField(),
)
_DISPUTED = """
EXISTS (
SELECT 1 FROM {labels}
  JOIN labels_label AS r ON r.{subject} = l.{subject} AND r.question_set = l.question_set
   AND r.party = 'reader'
   AND r.study_id NOT IN (SELECT s.id FROM studies_study AS s WHERE s.rehearsal_of_id IS NOT NULL)
 CROSS JOIN unnest(%s::text[]) AS asked (question)
 WHERE l.question_set = %s AND {own} AND l.answers ? asked.question AND r.answers ? asked.question
 GROUP BY l.id, asked.question
HAVING avg((r.answers->asked.question <> l.answers->asked.question)::integer) > 0.5)
"""


# A value, not an EXISTS: the planner would rather read the turns of all studies first.
_SAID = """
(SELECT true FROM dialogues_turn AS t
  WHERE t.dialogue_id = dialogues_dialogue.id AND strpos(upper(t.text), upper(%s)) > 0 LIMIT 1)
"""


def score_key(ask: int, score: str) -> str:
    """How addresses name a score: by the number of its ask, from 0, and its key."""
    return f"{ask}.{score}"


def scores_of(study: Study) -> dict[str, tuple[int, Score]]:
    """By `score_key`, what a study's conversations can be listed by, with the number of the ask."""
    return {
        score_key(number, score.key): (number, score)
        for number, ask in enumerate(study.asked)
        for score in question_set(ask.question_set).scores
    }


class Asked:
    """One of a study's scores, and how that of a conversation follows from the answers."""

    def __init__(self, study: Study, score: str = "") -> None:
        """Of a study that may ask nothing; `score` as in `Wanted`, or what is none of its scores."""
        number, chosen = scores_of(study).get(score, (0, None))
        ask = study.asked[number] if study.asked else None
        self.questions: QuestionSet | None = question_set(ask.question_set) if ask else None
        self.score: Score | None = chosen or (self.questions.main_score if self.questions else None)
        self._is_whole = bool(ask) and ask.about == About.DIALOGUE  # type: ignore[union-attr]

    def scored(self, dialogues: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
        """With `own_score` by those who talked and `read_score` by readers."""
        return dialogues.annotate(own_score=self._mean(_OWN), read_score=self._mean(_READ))

    def within(self, dialogues: QuerySet[Dialogue], wanted: Wanted) -> QuerySet[Dialogue]:
        """Those with the score, within its bounds: by those who talked, or by readers if nobody did."""
        if not wanted.is_by_score:
            return dialogues
        bounds = {"score__gte": wanted.lowest, "score__lte": wanted.highest, "score__isnull": False}
        told = {bound: value for bound, value in bounds.items() if value is not None}
        return dialogues.alias(score=self._by_anybody).filter(**told)

    def scoreless(self, dialogues: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
        """Those of which nobody judged what the score is made of."""
        return dialogues.alias(score=self._by_anybody).filter(score=None)

    @property
    def _by_anybody(self) -> Coalesce:
        return Coalesce(self._mean(_OWN), self._mean(_READ))

    def disputed(self, dialogues: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
        if self.questions is None:
            return dialogues.none()
        subject = "dialogue_id" if self._is_whole else "turn_id"
        statement = _DISPUTED.format(labels=self._labels, subject=subject, own=_OWN)
        keys = [question.key for question in coded_questions(self.questions)]
        return dialogues.filter(RawSQL(statement, [keys, self.questions.key], BooleanField()))

    @property
    def _labels(self) -> str:
        return _WHOLE if self._is_whole else _TURNS

    def _mean(self, whose: str) -> RawSQL:
        if self.questions is None or self.score is None:
            return RawSQL("NULL::float8", [], FloatField())
        number, values = score_column(self.score)
        statement = _MEAN.format(number=number, labels=self._labels, whose=whose)
        return RawSQL(statement, [*values, self.questions.key], FloatField())


def found(study: Study, wanted: Wanted, *, after: UUID | None = None) -> Found:
    """A page of the conversations that are wanted, from the newest or from one of them on."""
    asked, quick = Asked(study, wanted.score), _quick(study, wanted)
    total = quick.order_by()[: MOST_COUNTED + 1].count()
    rest = _after(quick, study, after).order_by(*NEWEST_FIRST)
    looked, end = _looked_through(rest, wanted, asked)
    shown = asked.scored(asked.within(looked, wanted)).prefetch_related(WHO_TALKED)
    rows: list[Dialogue] = list(shown.annotate(fault_count=_FAULTS)[: PER_PAGE + 1])
    is_more = len(rows) > PER_PAGE
    rows = rows[:PER_PAGE]
    if wanted.text:
        _point_out(rows, wanted.text)
    if is_more:
        looked, end = looked.filter(_beyond(rows[-1], "gte")), rows[-1].public_id
    scoreless = asked.scoreless(looked).count() if wanted.is_by_score else 0
    return Found(rows, end, LOOKED_THROUGH if wanted.is_slow else 0, total, scoreless)


WHO_TALKED = Prefetch(
    "seats",
    Seat.objects.select_related("bot", "worker", "assignment__participation__worker").order_by("number"),
)


def neighbours(study: Study, wanted: Wanted, of: Dialogue) -> tuple[UUID | None, UUID | None]:
    """The next newer and the next older conversation that are wanted; None where there is none near."""
    asked, quick = Asked(study, wanted.score), _quick(study, wanted)
    back = quick.filter(_beyond(of, "gt")).order_by("started_at", "pk")
    newer, _ = _looked_through(back, wanted, asked, before_end="lte")
    older, _ = _looked_through(quick.filter(_beyond(of, "lt")).order_by(*NEWEST_FIRST), wanted, asked)
    return _first(asked.within(newer, wanted)), _first(asked.within(older, wanted))


def _first(rows: QuerySet[Dialogue]) -> UUID | None:
    return rows.values_list("public_id", flat=True).first()


def _quick(study: Study, wanted: Wanted) -> QuerySet[Dialogue]:
    """Narrowed by what indexes tell."""
    rows = Dialogue.objects.filter(study=study)
    if wanted.bot:
        rows = rows.filter(Exists(Seat.objects.filter(dialogue=OuterRef("pk"), bot=wanted.bot)))
    if wanted.worker:
        seats = Seat.objects.filter(worker__in=_named(study, wanted))
        rows = rows.filter(pk__in=seats.values("dialogue"))
    if wanted.state == "open":
        rows = rows.filter(ending="")
    elif wanted.state == "excluded":
        seats = Seat.objects.filter(assignment__participation__excluded_at__isnull=False)
        rows = rows.filter(pk__in=seats.filter(assignment__study=study).values("dialogue"))
    elif wanted.state:
        rows = rows.filter(ending=wanted.state)
    if wanted.replies:
        # Of two people, each counted turn is a reply, as reports count.
        of_people = Q(bot_turns=0, turns__gte=F("opening_turns") + wanted.replies)
        rows = rows.filter(Q(bot_turns__gte=wanted.replies) | of_people)
    if wanted.faults:
        rows = rows.filter(Exists(Fault.objects.filter(dialogue=OuterRef("pk"))))
    return rows


def _named(study: Study, wanted: Wanted) -> list[int]:
    """The workers with this pseudonym in the study, else those whom a panel calls so."""
    by_pseudonym = study.participations.filter(pseudonym=wanted.worker.upper())
    found = list(by_pseudonym.values_list("worker", flat=True))
    if found or not wanted.panel_ids:
        return found
    return list(Worker.objects.filter(panel_id=wanted.worker).values_list("pk", flat=True))


def _after(rows: QuerySet[Dialogue], study: Study, after: UUID | None) -> QuerySet[Dialogue]:
    begun = Dialogue.objects.filter(study=study, public_id=after).first() if after else None
    return rows.filter(_beyond(begun, "lt")) if begun else rows


def _beyond(row: Dialogue, how: str) -> Q:
    """Older ("lt") or newer ("gt") than this one; with it: "lte", "gte".

    The bound alone lets the index find where to begin.
    """
    bound = Q(**{f"started_at__{how[:2]}e": row.started_at})
    return bound & (Q(**{f"started_at__{how[:2]}": row.started_at}) | Q(**{f"pk__{how}": row.pk}))


def _looked_through(
    ordered: QuerySet[Dialogue], wanted: Wanted, asked: Asked, *, before_end: str = "gte"
) -> tuple[QuerySet[Dialogue], UUID | None]:
    """Narrowed by all but the score; and where to go on if not all could be looked through."""
    if not wanted.is_slow:
        return ordered, None
    ends = list(ordered[LOOKED_THROUGH - 1 : LOOKED_THROUGH + 1])
    # Up to the last of them rather than among them: so the database stops once a page is full.
    rows = ordered.filter(_beyond(ends[0], before_end)) if ends else ordered
    if wanted.text:
        rows = rows.filter(RawSQL(_SAID, [wanted.text], BooleanField()))
    if wanted.disputed:
        rows = asked.disputed(rows)
    return rows, ends[0].public_id if len(ends) == 2 else None


def _point_out(rows: Sequence[Dialogue], text: str) -> None:
    """Note with each conversation the first turn in which the text is said."""
    said = Turn.objects.filter(dialogue__in=rows, text__icontains=text)
    first = {turn.dialogue_id: turn for turn in said.order_by("dialogue", "-position")}
    for row in rows:
        row.hit = first.get(row.pk)  # type: ignore[attr-defined]
