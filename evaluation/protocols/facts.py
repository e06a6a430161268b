"""Facts of a study that the rules of a protocol check, and deviations of its asks from the protocol's."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from evaluation.questions import QUESTION_SETS

HUMAN = "Human"
"""System name of people who talked with each other: an upper bound for bots."""


class Evaluation(StrEnum):
    """Kind of evaluation: replies to the workers themselves, replies to others, or two side by side."""

    INTERACTIVE = "interactive"
    STATIC = "static"
    """Responses to contexts that are the same for all systems."""
    READ = "read"
    """Conversations of others, turn by turn, for comparison with interactive scores."""
    PAIRWISE = "pairwise"


@dataclass(frozen=True, slots=True)
class AskFact:
    """One ask of a study or of a protocol.

    Attributes:
        question_set: key of the question set.
        about: subject of the ask.
        moment: when chatters are asked; empty for readers.
        required: true if the work cannot be finished without the answers.
        title: title of the questions; empty in files of protocols, whose questions come with Turnwise.
    """

    question_set: str
    about: str
    moment: str = ""
    required: bool = True
    title: str = ""


@dataclass(frozen=True, slots=True)
class Design:
    """Design of a study.

    Attributes:
        protocol: key of the published protocol that it follows; empty for none.
        asks: its asks about texts, in the order of the report.
    """

    protocol: str = ""
    asks: Sequence[AskFact] = ()


@dataclass(frozen=True, slots=True)
class Talks:
    """Facts of a study in which workers talk with chatbots.

    Attributes:
        bot_opens: true if the chatbot speaks first.
        opening_text: the scripted opening; "" if there is none.
        min_turns: fewest turns of a conversation, without the opening.
        max_turns: most turns of a conversation.
        question_set: key of the question set.
        blind: true if workers do not learn which bot they talk to.
        languages: codes of the languages of the study.
        conversations: by bot, number of finished conversations.
        unlabelled: number of replies of finished conversations without a label.
        most_raters: largest number of workers who labelled one reply; 0 without labels.
        primary: the declared primary analysis, by its name in `report.label_columns.Analysis`.
        margin: the declared largest difference that does not matter, in points; 0: none.
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
    """Facts of a study in which workers judge responses or conversations of others.

    Attributes:
        question_set: key of the question set.
        question_set_title: title of the question set.
        raters_wanted: planned number of raters for each item.
        items: number of items, judged or not.
        items_lacking_raters: number of items with fewer raters than planned.
        languages: codes of the languages of the study.
        primary: the declared primary analysis, by its name in `report.label_columns.Analysis`.
        contexts: number of contexts whose responses are judged.
        context_lengths: number of contexts by number of turns, in words.
        context_set: origin of the contexts, in words.
        contexts_of_several_turns: number of contexts that are more than a single prompt.
        contexts_lacking: by system, number of contexts without its response.
        conversations: by system, number of its judged conversations.
        has_batteries: true if each worker gets a battery; otherwise all that follows is 0.
        targets, fillers, repeats: numbers of items of each battery.
        reasons: number of items of a battery with a question for the reason.
        workers: number of workers who judged a whole battery.
        exclusion_rules: number of rules that propose exclusions.
        margin: the declared largest difference that does not matter, in points; 0: none.
        adjudication_steps: steps of a scale by which raters differ, so that an adjudicator decides; 0: nobody
            does.
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
    contexts_of_several_turns: int = 0
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
    adjudication_steps: int = 0


@dataclass(frozen=True, slots=True)
class SideBySide(Judging):
    """Facts of a study in which workers judge two responses or conversations side by side.

    Attributes:
        items_per_worker: number of items in a worker's batch.
        training_tries: number of tries to answer all training questions rightly; 0: no training questions.
        items_of_pairs: by pair of systems, number of items; several items from one conversation count once.
        short_contexts: number of items with a short context (`evaluation.texts.uninformative_contexts`).
        unknown_contexts: number of items whose context has the mark of an unknown word.
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
    wanted: Sequence[AskFact],
    asked: Sequence[AskFact],
    *,
    alike: Collection[str],
    names_first: bool,
    origin: str = "the paper",
) -> Iterator[str]:
    """Yield a sentence for each ask that is missing, added, or asked in another way.

    Args:
        wanted: asks of the protocol.
        asked: asks of the study.
        alike: keys of question sets that the protocol accepts in place of its first.
        names_first: true if a rule of the protocol already reports that the first question set differs.
        origin: the protocol's origin in the sentences.

    A protocol without asks leaves them to the study.
    """
    if not wanted:
        return
    wanted, asked = list(wanted), list(asked)
    if asked and asked[0].question_set != wanted[0].question_set:
        is_told = names_first or asked[0].question_set in alike
        if is_told and asked[0].question_set not in {each.question_set for each in wanted}:
            wanted, asked = wanted[1:], asked[1:]
    there = {(each.question_set, each.about): each for each in asked}
    for ask in wanted:
        found = there.pop((ask.question_set, ask.about), None)
        if found is None:
            yield f"{origin.capitalize()} also asks {_named(ask)}; this study does not."
        elif how := _how(found, ask, origin):
            yield f"{_named(ask)} {how}."
    for ask in there.values():
        yield f"This study also asks {_named(ask)}; {origin} does not."


def _named(ask: AskFact) -> str:
    shipped = QUESTION_SETS.get(ask.question_set)
    title = ask.title or (shipped.title if shipped else ask.question_set)
    return f"“{title}” {_ABOUT.get(ask.about, '')}".strip()


def _how(other: AskFact, ask: AskFact, origin: str) -> str:
    """Describe how an ask differs from the protocol's; empty if it does not."""
    differences = []
    if other.moment != ask.moment:
        here, there = (_MOMENT.get(moment, "of readers") for moment in (other.moment, ask.moment))
        differences.append(f"is asked {here} (in {origin}, {there})")
    if other.required != ask.required:
        words = {True: "must be answered", False: "may be left unanswered"}
        differences.append(f"{words[other.required]} (in {origin}, it {words[ask.required]})")
    return " and ".join(differences)
