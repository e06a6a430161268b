"""Pairs that a study is to judge: responses of runs, or finished conversations, side by side.

What would be added can be looked at first. Adding the same again adds only what is new.
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
from turnwise.judging.items.item_selection import refuse_unfit
from turnwise.judging.items.pair_sampling import Match, Matched, Side, of_conversations, of_responses
from turnwise.judging.items.subjects import insert, lock_plan
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queries import items_of
from turnwise.judging.queue.queued_task import Cost, cost_of
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
 GROUP BY p.id HAVING count(*) = %(asks)s  -- those that lack an ask come in for that one
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
  JOIN labels_pair AS p ON p.first_dialogue_id = wanted.one AND p.second_dialogue_id = wanted.other
  JOIN studies_ask AS ask ON ask.id = ANY(%(asks)s)
 ORDER BY ask.number, p.id
    ON CONFLICT DO NOTHING
""",
}

_NAMED_FIRST = f"""
SELECT i.key, i.first_system < i.second_system, judging_shown(item, false)->'sides'
  FROM ({items_of("%(study)s")}) AS i
  JOIN judging_item AS item ON item.id = i.id
"""


@dataclass(frozen=True, slots=True)
class Source:
    """What pairs are made of.

    Attributes:
        side: "response" or "dialogue".
        ids: of the runs, or of the studies with conversations.
        each: pairs wanted of every two systems; None: all there are.
        seed: decides which.
        language: of conversations; responses have that of their context.
        fit: of responses, which contexts are wanted.
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
    ) -> "Source":
        """Responses of these runs to the contexts that they have in common, the first of each repetition.

        Raises:
            ValidationError: two of the runs are of the same system.
        """
        chosen = list(runs)
        names = [run.system for run in chosen]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ValidationError(
                gettext("Two of the runs are of “%(twice)s”. Choose one run of each system.")
                % {"twice": twice}
            )
        return cls("response", tuple(run.pk for run in chosen), each, seed, fit=fit)

    @classmethod
    def of_conversations(
        cls, studies: Iterable[Study], *, language: str, each: int | None = None, seed: int = 1
    ) -> "Source":
        """Finished conversations of these studies, in this language or in none that anybody said."""
        return cls("dialogue", tuple(study.pk for study in studies), each, seed, language)


@dataclass(frozen=True, slots=True)
class Preview:
    """What adding would do.

    Attributes:
        matched: for every two systems, the pairs.
        plan: raters of each item, items of each worker.
        pay: of each worker.
        unfit: contexts that are left out because they are too short, or have an unknown word.
        asks: that are about pairs.
    """

    matched: Sequence[Matched]
    plan: JudgingPlan
    pay: Decimal
    unfit: int = 0
    asks: int = 1

    @property
    def items(self) -> int:
        """Items that the study then has of these systems: of each pair one for each ask."""
        return self.asks * sum(each.total for each in self.matched)

    @property
    def cost(self) -> Cost:
        return cost_of(self.items, self.plan, self.pay)


def preview(study: Study, source: Source) -> Preview:
    """What `add` would add.

    Raises:
        ValidationError: as `add`.
    """
    refuse_unfit(study, Subject.PAIR)
    matched, unfit = _matched(study, source)
    _refuse_unfilled(matched, source)
    return Preview(matched, plan_of(study), study.pay_amount, unfit, len(asks_about(study, Subject.PAIR)))


@transaction.atomic
def add(study: Study, source: Source) -> int:
    """Add the pairs of every two systems; how many came in.

    Raises:
        ValidationError: the study does not judge pairs, there are no two systems, or fewer pairs of some two
            than are wanted; nothing was added.
    """
    refuse_unfit(study, Subject.PAIR)
    lock_plan(study)
    matched, _ = _matched(study, source)
    _refuse_unfilled(matched, source)
    pairs = [pair for each in matched for pair in each.pairs]
    ids = {"first": [pair.first for pair in pairs], "second": [pair.second for pair in pairs]}
    _rows(_STORE.format(side=source.side) + " RETURNING 1", **ids)
    asks = [ask.pk for ask in asks_about(study, Subject.PAIR)]
    return insert(study, _ITEMS[source.side], asks=asks, language=source.language, **ids)


def _matched(study: Study, source: Source) -> tuple[list[Matched], int]:
    """What was found for every two systems, and how many contexts do not fit."""
    of_runs = source.side == "response"
    found = _rows(
        _RESPONSES if of_runs else _CONVERSATIONS,
        sources=list(source.ids),
        languages=study.languages,
        language=source.language,
    )
    systems: dict[str, list[Side]] = {}
    unfit: set[str] = set()
    for system, pk, name, said, context in found:
        sides = systems.setdefault(system, [])
        if context is None or source.fit.holds(context):
            sides.append(Side(pk, name, said))
        else:
            unfit.add(name)
    if len(systems) < 2:
        raise ValidationError(_why_none(list(systems), study, of_runs=of_runs))
    known = {Match(*row) for row in _known(study, of_responses=of_runs)}
    draw: Callable[..., list[Matched]] = of_responses if of_runs else of_conversations
    return draw(systems, known, each=source.each, seed=source.seed), len(unfit)


def _known(study: Study, *, of_responses: bool) -> list[tuple[Any, ...]]:
    """The pairs that the study has for each of its asks."""
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


def _refuse_unfilled(matched: Sequence[Matched], source: Source) -> None:
    """Refuse what leaves two systems with fewer pairs than wanted, or with none."""
    what = "contexts" if source.side == "response" else "conversations of each"
    wanted = 1 if source.each is None else source.each
    short = [each for each in matched if each.total < wanted]
    if short:
        counts = "; ".join(f"{each.one} and {each.other}: {each.total}{_alike(each)}" for each in short)
        raise ValidationError(
            gettext(
                "Every two systems need %(wanted)s %(what)s that can be set side by side, and some have "
                "fewer: %(counts)s. Ask for fewer, leave a system or the rules for contexts out, or add what "
                "is missing first."
            )
            % {"wanted": wanted, "what": what, "counts": counts}
        )
    if sum(len(each.pairs) for each in matched) > MOST_PAIRS:
        raise ValidationError(
            gettext("These are more than %(most_pairs)s pairs. Ask for fewer for every two systems.")
            % {"most_pairs": MOST_PAIRS}
        )


def _alike(matched: Matched) -> str:
    return f" ({matched.alike} left out, in which both say the same)" if matched.alike else ""


def _rows(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def named_first(study: Study) -> dict[str, list[str]]:
    """By the key of each pair, what the system says in it whose name comes first, oldest first."""
    return {
        str(key): json.loads(sides)[0 if is_in_order else 1]["texts"]
        for key, is_in_order, sides in _rows(_NAMED_FIRST, study=study.pk)
    }
