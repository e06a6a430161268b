"""Where a study departs from the interactive evaluation that defined SSA. Pure.

Adiwardana et al. 2020, Towards a Human-like Open-Domain Chatbot, arXiv:2001.09977, section 2 and appendix A.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

PAPER_OPENING = "Hi!"
PAPER_TURNS = (14, 28)
PAPER_CONVERSATIONS = 100


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a study was run.

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


def deviations(study: Conduct) -> list[str]:
    """Each departure from the paper in a sentence; none if the study follows it."""
    return [*_protocol(study), *_data(study)]


def _protocol(study: Conduct) -> Iterator[str]:
    if not study.bot_opens:
        yield f"The worker speaks first; in the paper the chatbot opens with “{PAPER_OPENING}”."
    elif study.opening_text != PAPER_OPENING:
        yield f"The chatbot opens with “{study.opening_text}”; in the paper with “{PAPER_OPENING}”."
    for word, ours, theirs in zip(
        ("at least", "at most"), (study.min_turns, study.max_turns), PAPER_TURNS, strict=True
    ):
        if ours != theirs:
            yield f"A conversation has {word} {ours} turns; in the paper {word} {theirs}."
    if study.question_set != "ssa":
        yield (
            f"Workers answer the questions “{study.question_set}”; in the paper sensibleness and specificity."
        )
    if not study.blind:
        yield "Workers learn which bot they talk to; in the paper they only know that it is experimental."
    if len(study.languages) > 1:
        listed = ", ".join(study.languages)
        yield f"Conversations may be in any of {listed}; in the paper each evaluation is in one language."
    elif not study.languages:
        yield "No language is set; in the paper each evaluation is in one language."


def _data(study: Conduct) -> Iterator[str]:
    for bot, finished in study.conversations.items():
        if finished < PAPER_CONVERSATIONS:
            yield f"Finished conversations of {bot}: {finished}; in the paper {PAPER_CONVERSATIONS} or more."
    if study.unlabelled:
        yield f"Replies without a label: {study.unlabelled}; in the paper every reply of the chatbot has one."
    if study.most_raters > 1:
        yield (
            f"A reply has labels of up to {study.most_raters} workers, and every label counts once; in the "
            f"paper the worker who chats is the only one who labels."
        )
