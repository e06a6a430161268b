"""What rules of a protocol look at: how a study was run, as far as a report knows it.

Where what a study asks departs from what its protocol asks.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from evaluation.questions import QUESTION_SETS

HUMAN = "Human"
"""What the people are called as a system who talked with each other: the ceiling of what a bot can reach."""


class Evaluation(StrEnum):
    """What is judged: replies to the workers themselves, those to others, or two of these side by side."""

    INTERACTIVE = "interactive"
    STATIC = "static"
    """Responses to contexts that are the same for all."""
    READ = "read"
    """Conversations of others, turn by turn: to be compared with interactive scores."""
    PAIRWISE = "pairwise"


@dataclass(frozen=True, slots=True)
class AskFact:
    """One thing that a study asks, or a protocol.

    Attributes:
        question_set: key of the questions.
        about: what they are about, as asks have it.
        moment: when those who talk are asked; empty of readers.
        required: whether there is no end without the answers.
        title: of the questions; empty in files of protocols, whose questions ship.
    """

    question_set: str
    about: str
    moment: str = ""
    required: bool = True
    title: str = ""


@dataclass(frozen=True, slots=True)
class Design:
    """What a study is by its plan.

    Attributes:
        protocol: key of the published protocol by which it was made; empty of an own design.
        asks: what it asks about what is said or shown, what its report begins with first.
    """

    protocol: str = ""
    asks: Sequence[AskFact] = ()


@dataclass(frozen=True, slots=True)
class Talks:
    """How a study in which workers talk with chatbots was run.

    Attributes:
        bot_opens: whether the chatbot speaks first.
        opening_text: the scripted opening; "" if there is none.
        min_turns: turns that a conversation needs, the opening not counted.
        max_turns: turns that it may have.
        question_set: key of the questions asked.
        blind: whether workers do not learn which bot they talk to.
        languages: codes of the languages of the study.
        conversations: by bot, the finished conversations.
        unlabelled: replies of finished conversations without a label.
        most_raters: most workers that labelled the same reply; 0 without labels.
        primary: the analysis that was declared as the primary one, by its name in `report.analysis`.
        margin: that was declared as the largest difference that does not matter, in points; 0: none was.
    """

    bot_opens: bool
    opening_text: str
    min_turns: int
    max_turns: int
    question_set: str
    blind: bool
    languages: Sequence[str]
    conversations: Mapping[str, int] = field(default_factory=dict)
    unlabelled: int = 0
    most_raters: int = 0
    primary: str = "all"
    margin: float = 0


@dataclass(frozen=True, slots=True)
class Judging:
    """How a study in which workers judge responses or conversations of others was run.

    Attributes:
        question_set: key of the questions asked.
        question_set_title: their title.
        raters_wanted: raters that the plan wants for each item.
        items: items of the study, judged or not.
        items_lacking_raters: those that have fewer.
        languages: codes of the languages of the study.
        primary: the analysis that was declared as the primary one, by its name in `report.analysis`.
        contexts: contexts whose responses are judged.
        context_lengths: how many of them have how many turns.
        context_set: whose contexts they are.
        contexts_lacking: by system, contexts to which it has no response.
        conversations: by system, its conversations that are judged.
        has_batteries: whether each worker gets a battery; all that follows is 0 otherwise.
        targets, fillers, repeats: of each battery.
        reasons: for how many items of each a reason is asked.
        workers: who judged a whole battery.
        exclusion_rules: rules that propose whom to exclude.
        margin: that was declared as the largest difference that does not matter, in points; 0: none was.
    """

    question_set: str
    question_set_title: str
    raters_wanted: int
    items: int
    items_lacking_raters: int
    languages: Sequence[str]
    primary: str = "all"
    contexts: int = 0
    context_lengths: str = ""
    context_set: str = ""
    contexts_lacking: Mapping[str, int] = field(default_factory=dict)
    conversations: Mapping[str, int] = field(default_factory=dict)
    has_batteries: bool = False
    targets: int = 0
    fillers: int = 0
    repeats: int = 0
    reasons: int = 0
    workers: int = 0
    exclusion_rules: int = 0
    margin: float = 0


@dataclass(frozen=True, slots=True)
class SideBySide(Judging):
    """How a study in which workers judge two responses or conversations side by side was run.

    Attributes:
        items_per_worker: items in a worker's batch.
        training_tries: tries at training questions that must all be right; 0: there are none.
        items_of_pairs: by two systems, the items in which they meet.
        short_contexts: items whose context has few words (`evaluation.texts.uninformative_contexts`).
        unknown_contexts: items whose context has the mark of an unknown word.
    """

    items_per_worker: int = 0
    training_tries: int = 0
    items_of_pairs: Mapping[str, int] = field(default_factory=dict)
    short_contexts: int = 0
    unknown_contexts: int = 0


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


def ask_deviations(
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
