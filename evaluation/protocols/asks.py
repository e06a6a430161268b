"""Where what a study asks departs from what its protocol asks."""

from collections.abc import Collection, Iterator, Sequence

from evaluation.protocols.facts import AskFact
from evaluation.questions import QUESTION_SETS

_ABOUT = {
    "own_turn": "about each of the speaker's own turns",
    "partner_turn": "about each of the partner's turns",
    "dialogue": "about the whole conversation",
    "response": "about each response or turn that is judged",
    "pair": "about each pair",
    "context": "about each context",
}
_MOMENT = {
    "each_turn": "before the next message",
    "waiting": "while the partner writes",
    "before_finish": "at any time before the end",
    "at_end": "at the end",
}


def asked_otherwise(
    wanted: Sequence[AskFact], asked: Sequence[AskFact], *, alike: Collection[str], names_first: bool
) -> Iterator[str]:
    """A sentence for each ask that is missing, added, or asked in another way.

    Args:
        wanted: what the protocol asks.
        asked: what the study asks.
        alike: keys of question sets that the protocol takes for its own; they may stand for its first.
        names_first: whether a rule of the protocol tells already that the first questions are others.
    """
    wanted, asked = list(wanted), list(asked)
    if wanted and asked and asked[0].question_set != wanted[0].question_set:
        is_told = names_first or asked[0].question_set in alike
        if is_told and asked[0].question_set not in {each.question_set for each in wanted}:
            wanted, asked = wanted[1:], asked[1:]
    there = {(each.question_set, each.about): each for each in asked}
    for ask in wanted:
        found = there.pop((ask.question_set, ask.about), None)
        if found is None:
            yield f"The paper also asks {_named(ask)}; this study does not."
        elif how := _how(found, ask):
            yield f"{_named(ask)} {how}."
    for ask in there.values():
        yield f"This study also asks {_named(ask)}; the paper does not."


def _named(ask: AskFact) -> str:
    shipped = QUESTION_SETS.get(ask.question_set)
    title = ask.title or (shipped.title if shipped else ask.question_set)
    return f"“{title}” {_ABOUT.get(ask.about, '')}".strip()


def _how(found: AskFact, ask: AskFact) -> str:
    """How it is asked, and how in the paper; empty if that is the same."""
    told = []
    if found.moment != ask.moment:
        here, there = (_MOMENT.get(moment, "of readers") for moment in (found.moment, ask.moment))
        told.append(f"is asked {here} (in the paper, {there})")
    if found.required != ask.required:
        words = {True: "must be answered", False: "may be left unanswered"}
        told.append(f"{words[found.required]} (in the paper, it {words[ask.required]})")
    return " and ".join(told)
