"""Searching the conversations of a study, page by page.

Filters that need labels or texts scan a limited number of conversations at a time, newest first, so that a
study of a hundred
thousand conversations is as quick as a small one.
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
from turnwise.studies.conditions.factors import chosen_level
from turnwise.studies.models import Study

PER_PAGE = 50
SCAN_LIMIT = 500
MOST_COUNTED = 10_000
NEWEST_FIRST = ("-started_at", "-pk")


@dataclass(frozen=True, slots=True)
class DialogueFilter:
    """Filters of the list of conversations; empty ones filter nothing.

    Attributes:
        text: text of a turn, case-insensitive.
        bot: the bot in the conversation.
        worker: pseudonym or panel id of the worker.
        state: an ending, "open", or "excluded" for conversations of excluded workers.
        score: `score_key` of a score that is shown and required; empty: the main score of the first ask is
        shown
            and not required.
        lowest, highest: bounds of the score.
        faults: only conversations with a failed reply.
        disputed: only conversations where most readers and the chatter gave different answers.
        replies: minimum of replies.
        panel_ids: True if `worker` may be a panel id.
        condition: key of `level_choices`: only conversations of people in this level of a factor.
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
    condition: str = ""

    @property
    def needs_scan(self) -> bool:
        """True if labels or texts must be read for the filters."""
        return bool(self.text or self.disputed) or self.requires_score

    @property
    def requires_score(self) -> bool:
        """True if conversations without the score are left out."""
        return bool(self.score) or (self.lowest, self.highest) != (None, None)


@dataclass(slots=True)
class DialoguePage:
    """A page of conversations.

    Attributes:
        rows: the conversations, newest first.
        older: public id after which the next page begins; None at the end.
        scanned: number of scanned conversations; 0: no scan was needed.
        total: number of conversations by the filters that need no scan, at most MOST_COUNTED + 1.
        scoreless: number of scanned conversations left out because they lack the score.
    """

    rows: list[Dialogue] = field(default_factory=list)
    older: UUID | None = None
    scanned: int = 0
    total: int = 0
    scoreless: int = 0


# Labels of a conversation's turns, or of the whole conversation, by chatters or by readers.
_TURNS = (
    "labels_label AS l JOIN dialogues_turn AS t ON t.id = l.turn_id AND t.dialogue_id = dialogues_dialogue.id"
)
_WHOLE = "(SELECT * FROM labels_label AS w WHERE w.dialogue_id = dialogues_dialogue.id) AS l"
_BY_CHATTERS = "l.party <> 'reader' AND l.study_id = dialogues_dialogue.study_id"
_BY_READERS = """l.party = 'reader'
   AND l.study_id NOT IN (SELECT s.id FROM studies_study AS s WHERE s.rehearsal_of_id IS NOT NULL)"""
_MEAN = "SELECT avg({number}) FROM {labels} WHERE l.question_set = %s AND {by_party}"
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
 WHERE l.question_set = %s AND {by_chatters} AND l.answers ? asked.question AND r.answers ? asked.question
 GROUP BY l.id, asked.question
HAVING avg((r.answers->asked.question <> l.answers->asked.question)::integer) > 0.5)
"""


# A scalar subquery instead of EXISTS, with which the planner would read the turns of all studies first.
_SAYS_TEXT = """
(SELECT true FROM dialogues_turn AS t
  WHERE t.dialogue_id = dialogues_dialogue.id AND strpos(upper(t.text), upper(%s)) > 0 LIMIT 1)
"""


def score_key(ask: int, score: str) -> str:
    """Name of a score in addresses: the number of its ask, from 0, and its key."""
    return f"{ask}.{score}"


def scores_of(study: Study) -> dict[str, tuple[int, Score]]:
    """Scores of a study by `score_key`, each with the number of its ask."""
    return {
        score_key(number, score.key): (number, score)
        for number, ask in enumerate(study.work_asks)
        for score in question_set(ask.question_set).scores
    }


class ScoreQuery:
    """SQL for one score of a study, computed from the labels of a conversation."""

    def __init__(self, study: Study, score: str = "") -> None:
        """Take the study and a `score_key`; for an unknown one, the main score of the first ask is used."""
        number, named = scores_of(study).get(score, (0, None))
        ask = study.work_asks[number] if study.work_asks else None
        self.questions: QuestionSet | None = question_set(ask.question_set) if ask else None
        self.score: Score | None = named or (self.questions.main_score if self.questions else None)
        self._is_whole = bool(ask) and ask.about == About.DIALOGUE  # type: ignore[union-attr]

    def scored(self, dialogues: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
        """Annotate `own_score` by chatters and `read_score` by readers."""
        return dialogues.annotate(own_score=self._mean(_BY_CHATTERS), read_score=self._mean(_BY_READERS))

    def within(self, dialogues: QuerySet[Dialogue], by: DialogueFilter) -> QuerySet[Dialogue]:
        """Conversations whose score, by chatters or else by readers, is within the bounds."""
        if not by.requires_score:
            return dialogues
        bounds = {"score__gte": by.lowest, "score__lte": by.highest, "score__isnull": False}
        conditions = {bound: value for bound, value in bounds.items() if value is not None}
        return dialogues.alias(score=self._by_any_party).filter(**conditions)

    def scoreless(self, dialogues: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
        """Conversations without the labels that the score needs."""
        return dialogues.alias(score=self._by_any_party).filter(score=None)

    @property
    def _by_any_party(self) -> Coalesce:
        return Coalesce(self._mean(_BY_CHATTERS), self._mean(_BY_READERS))

    def disputed(self, dialogues: QuerySet[Dialogue]) -> QuerySet[Dialogue]:
        if self.questions is None:
            return dialogues.none()
        subject = "dialogue_id" if self._is_whole else "turn_id"
        statement = _DISPUTED.format(labels=self._labels, subject=subject, by_chatters=_BY_CHATTERS)
        keys = [question.key for question in coded_questions(self.questions)]
        return dialogues.filter(RawSQL(statement, [keys, self.questions.key], BooleanField()))

    @property
    def _labels(self) -> str:
        return _WHOLE if self._is_whole else _TURNS

    def _mean(self, by_party: str) -> RawSQL:
        if self.questions is None or self.score is None:
            return RawSQL("NULL::float8", [], FloatField())
        number, values = score_column(self.score)
        statement = _MEAN.format(number=number, labels=self._labels, by_party=by_party)
        return RawSQL(statement, [*values, self.questions.key], FloatField())


def find_dialogues(study: Study, by: DialogueFilter, *, after: UUID | None = None) -> DialoguePage:
    """A page of the filtered conversations, from the newest or after the given one."""
    query, quick = ScoreQuery(study, by.score), _filter_by_indexes(study, by)
    total = quick.order_by()[: MOST_COUNTED + 1].count()
    rest = _after(quick, study, after).order_by(*NEWEST_FIRST)
    scanned, end = _scan(rest, by, query)
    shown = query.scored(query.within(scanned, by)).prefetch_related(SEATS_WITH_OCCUPANTS)
    rows: list[Dialogue] = list(shown.annotate(fault_count=_FAULTS)[: PER_PAGE + 1])
    is_more = len(rows) > PER_PAGE
    rows = rows[:PER_PAGE]
    if by.text:
        _note_hits(rows, by.text)
    if is_more:
        scanned, end = scanned.filter(_beyond(rows[-1], "gte")), rows[-1].public_id
    scoreless = query.scoreless(scanned).count() if by.requires_score else 0
    return DialoguePage(rows, end, SCAN_LIMIT if by.needs_scan else 0, total, scoreless)


SEATS_WITH_OCCUPANTS = Prefetch(
    "seats",
    Seat.objects.select_related("bot", "worker", "assignment__participation__worker").order_by("number"),
)


def neighbours(study: Study, by: DialogueFilter, of: Dialogue) -> tuple[UUID | None, UUID | None]:
    """Public ids of the next newer and the next older filtered conversation; None if none is near."""
    query, quick = ScoreQuery(study, by.score), _filter_by_indexes(study, by)
    back = quick.filter(_beyond(of, "gt")).order_by("started_at", "pk")
    newer, _ = _scan(back, by, query, before_end="lte")
    older, _ = _scan(quick.filter(_beyond(of, "lt")).order_by(*NEWEST_FIRST), by, query)
    return _first(query.within(newer, by)), _first(query.within(older, by))


def _first(rows: QuerySet[Dialogue]) -> UUID | None:
    return rows.values_list("public_id", flat=True).first()


def _filter_by_indexes(study: Study, by: DialogueFilter) -> QuerySet[Dialogue]:
    """Apply the filters that indexes answer."""
    rows = Dialogue.objects.filter(study=study)
    if by.bot:
        rows = rows.filter(Exists(Seat.objects.filter(dialogue=OuterRef("pk"), bot=by.bot)))
    if by.worker:
        seats = Seat.objects.filter(worker__in=_workers_named(study, by))
        rows = rows.filter(pk__in=seats.values("dialogue"))
    if by.condition:
        seats = Seat.objects.filter(assignment__participation__condition__contains=chosen_level(by.condition))
        rows = rows.filter(Exists(seats.filter(dialogue=OuterRef("pk"))))
    if by.state == "open":
        rows = rows.filter(ending="")
    elif by.state == "excluded":
        seats = Seat.objects.filter(assignment__participation__excluded_at__isnull=False)
        rows = rows.filter(pk__in=seats.filter(assignment__study=study).values("dialogue"))
    elif by.state:
        rows = rows.filter(ending=by.state)
    if by.replies:
        # Between two people, each counted turn is a reply, as in reports.
        of_people = Q(bot_turns=0, turns__gte=F("opening_turns") + by.replies)
        rows = rows.filter(Q(bot_turns__gte=by.replies) | of_people)
    if by.faults:
        rows = rows.filter(Exists(Fault.objects.filter(dialogue=OuterRef("pk"))))
    return rows


def _workers_named(study: Study, by: DialogueFilter) -> list[int]:
    """Workers with this pseudonym in the study, else with this panel id."""
    by_pseudonym = study.participations.filter(pseudonym=by.worker.upper())
    found = list(by_pseudonym.values_list("worker", flat=True))
    if found or not by.panel_ids:
        return found
    return list(Worker.objects.filter(panel_id=by.worker).values_list("pk", flat=True))


def _after(rows: QuerySet[Dialogue], study: Study, after: UUID | None) -> QuerySet[Dialogue]:
    begun = Dialogue.objects.filter(study=study, public_id=after).first() if after else None
    return rows.filter(_beyond(begun, "lt")) if begun else rows


def _beyond(row: Dialogue, how: str) -> Q:
    """Condition: older ("lt") or newer ("gt") than this conversation; "lte" and "gte" include it.

    The redundant bound on the time lets PostgreSQL begin at the right place of the index.
    """
    bound = Q(**{f"started_at__{how[:2]}e": row.started_at})
    return bound & (Q(**{f"started_at__{how[:2]}": row.started_at}) | Q(**{f"pk__{how}": row.pk}))


def _scan(
    ordered: QuerySet[Dialogue], by: DialogueFilter, query: ScoreQuery, *, before_end: str = "gte"
) -> tuple[QuerySet[Dialogue], UUID | None]:
    """Apply the filters by texts and disagreement; also returns where to go on if the scan stopped."""
    if not by.needs_scan:
        return ordered, None
    ends = list(ordered[SCAN_LIMIT - 1 : SCAN_LIMIT + 1])
    # A bound instead of a list of keys, so that the database stops once a page is full.
    rows = ordered.filter(_beyond(ends[0], before_end)) if ends else ordered
    if by.text:
        rows = rows.filter(RawSQL(_SAYS_TEXT, [by.text], BooleanField()))
    if by.disputed:
        rows = query.disputed(rows)
    return rows, ends[0].public_id if len(ends) == 2 else None


def _note_hits(rows: Sequence[Dialogue], text: str) -> None:
    """Set `hit` of each conversation to its first turn with the text."""
    hits = Turn.objects.filter(dialogue__in=rows, text__icontains=text)
    first = {turn.dialogue_id: turn for turn in hits.order_by("dialogue", "-position")}
    for row in rows:
        row.hit = first.get(row.pk)  # type: ignore[attr-defined]
