"""Pairs to judge side by side: responses of runs, or finished conversations.

`preview` shows what `add` would add. Adding again adds only new pairs.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils.translation import gettext

from evaluation.questions import Subject
from evaluation.texts.uninformative_contexts import Fit
from turnwise.judging.asks import asks_about
from turnwise.judging.items.item_selection import check_can_judge
from turnwise.judging.items.pair_sampling import (
    PairDraw,
    PairIds,
    Side,
    draw_conversation_pairs,
    draw_response_pairs,
)
from turnwise.judging.items.subjects import insert, lock_plan
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queries import items_of
from turnwise.judging.queue.queued_task import Cost, estimate_cost
from turnwise.judging.queue.services import plan_of
from turnwise.responses.models import ResponseRun
from turnwise.studies.models import Study

MOST_PAIRS = 100_000
ANY = Fit()

_RESPONSES = """
SELECT run.system, r.id, c.key, r.text, to_json(c.turns)
  FROM responses_response AS r
  JOIN responses_responserun AS run ON run.id = r.run_id
  JOIN contexts_context AS c ON c.id = r.context_id
 WHERE r.run_id = ANY(%(sources)s) AND r.repetition = 1 AND c.language = ANY(%(languages)s)
 ORDER BY c.position, r.id
"""
_CONVERSATIONS = """
SELECT judging_system(NULL, d.id), d.id, d.public_id::text, '', NULL
  FROM dialogues_dialogue AS d
 WHERE d.study_id = ANY(%(sources)s) AND d.ending = 'complete'
   AND d.language IN ('', %(language)s)
 ORDER BY d.id
"""
_KNOWN = """
SELECT coalesce(p.first_response_id, p.first_dialogue_id),
       coalesce(p.second_response_id, p.second_dialogue_id)
  FROM judging_item AS i JOIN labels_pair AS p ON p.id = i.pair_id
 WHERE i.study_id = %(study)s AND (p.first_response_id IS NOT NULL) = %(of_responses)s
 GROUP BY p.id HAVING count(*) = %(asks)s  -- a pair that lacks an ask gets an item for it
"""
_STORE = """
INSERT INTO labels_pair (first_{side}_id, second_{side}_id)
SELECT * FROM unnest(%(first)s::bigint[], %(second)s::bigint[]) ON CONFLICT DO NOTHING
"""
_ITEMS = {
    "response": """
INSERT INTO judging_item (study_id, ask_id, pair_id, key, language)
SELECT %(study)s, ask.id, p.id, judging_key(ask.number), c.language
  FROM unnest(%(first)s::bigint[], %(second)s::bigint[]) AS wanted (one, other)
  JOIN labels_pair AS p ON p.first_response_id = wanted.one AND p.second_response_id = wanted.other
  JOIN responses_response AS r ON r.id = wanted.one
  JOIN contexts_context AS c ON c.id = r.context_id
  JOIN studies_ask AS ask ON ask.id = ANY(%(asks)s)
 ORDER BY ask.number, p.id
    ON CONFLICT DO NOTHING
""",
    "dialogue": """
INSERT INTO judging_item (study_id, ask_id, pair_id, key, language)
SELECT %(study)s, ask.id, p.id, judging_key(ask.number), %(language)s
  FROM unnest(%(first)s::bigint[], %(second)s::bigint[]) AS wanted (one, other)
  JOIN labels_pair AS p
    ON p.first_dialogue_id = wanted.one AND p.second_dialogue_id = wanted.other AND p.turns IS NULL
  JOIN studies_ask AS ask ON ask.id = ANY(%(asks)s)
 ORDER BY ask.number, p.id
    ON CONFLICT DO NOTHING
""",
}

_TEXTS_OF_FIRST_NAMED = f"""
SELECT i.key, i.first_system < i.second_system, judging_shown(item, false)->'sides'
  FROM ({items_of("%(study)s")}) AS i
  JOIN judging_item AS item ON item.id = i.id
"""


@dataclass(frozen=True, slots=True)
class PairSource:
    """Material for pairs: runs or studies, and how many pairs to draw.

    Attributes:
        side: "response" or "dialogue".
        ids: ids of the runs, or of the studies with conversations.
        each: pairs wanted of every two systems; None: all.
        seed: determines the pairs.
        language: language of conversations; responses have that of their context.
        fit: conditions on the contexts of responses.
    """

    side: str
    ids: tuple[int, ...]
    each: int | None
    seed: int
    language: str = ""
    fit: Fit = ANY

    @classmethod
    def of_runs(
        cls, runs: Iterable[ResponseRun], *, each: int | None = None, seed: int = 1, fit: Fit = ANY
    ) -> "PairSource":
        """Pair the responses of these runs to common contexts; only the first repetition is used.

        Raises:
            ValidationError: two of the runs have the same system.
        """
        selected = list(runs)
        names = [run.system for run in selected]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValidationError(
                gettext("Two of the runs are of “%(twice)s”. Choose one run of each system.")
                % {"twice": twice}
            )
        return cls("response", tuple(run.pk for run in selected), each, seed, fit=fit)

    @classmethod
    def of_conversations(
        cls, studies: Iterable[Study], *, language: str, each: int | None = None, seed: int = 1
    ) -> "PairSource":
        """Pair finished conversations of these studies that have this language or none."""
        return cls("dialogue", tuple(study.pk for study in studies), each, seed, language)


@dataclass(frozen=True, slots=True)
class Preview:
    """The result of adding pairs, before anything is stored.

    Attributes:
        draws: the pairs of every two systems.
        plan: plan of the study, with the raters of each item.
        pay: pay of each worker.
        unfit: number of contexts left out because they are too short or have an unknown word.
        asks: number of asks about pairs.
    """

    draws: Sequence[PairDraw]
    plan: JudgingPlan
    pay: Decimal
    unfit: int = 0
    asks: int = 1

    @property
    def items(self) -> int:
        """Items of these systems after adding: one for each pair and ask."""
        return self.asks * sum(each.total for each in self.draws)

    @property
    def cost(self) -> Cost:
        return estimate_cost(self.items, self.plan, self.pay)


def preview(study: Study, source: PairSource) -> Preview:
    """Draw the pairs that `add` would add, without storing them.

    Raises:
        ValidationError: as `add`.
    """
    check_can_judge(study, Subject.PAIR)
    draws, unfit = _draw(study, source)
    _check_enough_pairs(draws, source)
    return Preview(draws, plan_of(study), study.pay_amount, unfit, len(asks_about(study, Subject.PAIR)))


@transaction.atomic
def add(study: Study, source: PairSource) -> int:
    """Add the pairs of every two systems, and return the number of new items.

    Raises:
        ValidationError: the study does not judge pairs, there are fewer than two systems, or two systems have
            fewer pairs than wanted; nothing was added.
    """
    check_can_judge(study, Subject.PAIR)
    lock_plan(study)
    draws, _ = _draw(study, source)
    _check_enough_pairs(draws, source)
    pairs = [pair for each in draws for pair in each.pairs]
    ids = {"first": [pair.first for pair in pairs], "second": [pair.second for pair in pairs]}
    _rows(_STORE.format(side=source.side) + " RETURNING 1", **ids)
    asks = [ask.pk for ask in asks_about(study, Subject.PAIR)]
    return insert(study, _ITEMS[source.side], asks=asks, language=source.language, **ids)


def _draw(study: Study, source: PairSource) -> tuple[list[PairDraw], int]:
    """Draw pairs of every two systems; also returns the number of contexts that do not fit."""
    of_runs = source.side == "response"
    found = _rows(
        _RESPONSES if of_runs else _CONVERSATIONS,
        sources=list(source.ids),
        languages=study.languages,
        language=source.language,
    )
    systems: dict[str, list[Side]] = {}
    unfit: set[str] = set()
    for system, pk, name, text, context in found:
        sides = systems.setdefault(system, [])
        if context is None or source.fit.holds(context):
            sides.append(Side(pk, name, text))
        else:
            unfit.add(name)
    if len(systems) < 2:
        raise ValidationError(_why_none(list(systems), study, of_runs=of_runs))
    known = {PairIds(*row) for row in _known(study, of_responses=of_runs)}
    draw: Callable[..., list[PairDraw]] = draw_response_pairs if of_runs else draw_conversation_pairs
    return draw(systems, known, each=source.each, seed=source.seed), len(unfit)


def _known(study: Study, *, of_responses: bool) -> list[tuple[Any, ...]]:
    """Pairs of the study that have an item for each of its asks about pairs."""
    asks = len(asks_about(study, Subject.PAIR))
    return _rows(_KNOWN, study=study.pk, of_responses=of_responses, asks=asks)


def _why_none(systems: Sequence[str], study: Study, *, of_runs: bool) -> str:
    there = f"only of “{systems[0]}”" if systems else "of no system"
    what = "responses" if of_runs else "finished conversations"
    cure = "Choose runs of two systems" if of_runs else "Choose studies with finished conversations of two"
    return (
        f"There are {what} {there} in {', '.join(study.languages)}, and a pair needs two systems. "
        f"{cure}, in a language of this study."
    )


def _check_enough_pairs(draws: Sequence[PairDraw], source: PairSource) -> None:
    """Refuse if two systems have no pairs, or fewer than wanted, or if there are too many in all."""
    what = "contexts" if source.side == "response" else "conversations of each"
    wanted = 1 if source.each is None else source.each
    short = [each for each in draws if each.total < wanted]
    if short:
        counts = "; ".join(f"{each.one} and {each.other}: {each.total}{_identical(each)}" for each in short)
        raise ValidationError(
            gettext(
                "Every two systems need %(wanted)s %(what)s that can be set side by side, and some have "
                "fewer: %(counts)s. Ask for fewer, leave a system or the rules for contexts out, or add what "
                "is missing first."
            )
            % {"wanted": wanted, "what": what, "counts": counts}
        )
    if sum(len(each.pairs) for each in draws) > MOST_PAIRS:
        raise ValidationError(
            gettext("These are more than %(most_pairs)s pairs. Ask for fewer for every two systems.")
            % {"most_pairs": MOST_PAIRS}
        )


def _identical(drawn: PairDraw) -> str:
    return f" ({drawn.identical} left out, in which both say the same)" if drawn.identical else ""


def _rows(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def texts_of_first_named(study: Study) -> dict[str, list[str]]:
    """By pair key, the texts of the system whose name comes first alphabetically, oldest first."""
    return {
        str(key): json.loads(sides)[0 if is_in_order else 1]["texts"]
        for key, is_in_order, sides in _rows(_TEXTS_OF_FIRST_NAMED, study=study.pk)
    }
