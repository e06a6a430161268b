"""Question sets of Topical-Chat: messages, the conversation, and responses that use knowledge."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Choice, Kind, Question, Score, Subject, Term
from evaluation.questions.sets.ssa import YES_OR_NO

_SOURCE = (
    "Gopalakrishnan et al. 2019, Topical-Chat: Towards Knowledge-Grounded Open-Domain Conversations, "
    "Interspeech, section 3.3"
)

SENTIMENTS = (
    "Angry", "Disgusted", "Fearful", "Sad", "Happy", "Surprised", "Curious to dive deeper", "Neutral",
)  # fmt: skip
SOURCES = {
    "FS1": "Factual Section 1",
    "FS2": "Factual Section 2",
    "FS3": "Factual Section 3",
    "AS1": "Article Section 1",
    "AS2": "Article Section 2",
    "AS3": "Article Section 3",
    "AS4": "Article Section 4",
    "Personal Knowledge": "Personal knowledge",
}
SECTIONS = tuple(key for key in SOURCES if key != "Personal Knowledge")
"""Of what somebody reads; configuration C shows no article."""
RATINGS = ("Poor", "Not Good", "Passable", "Good", "Excellent")
"""From 1 to 5."""


def _rating(key: str, wording: str, help_text: str) -> Question:
    choices = tuple(Choice(number, label) for number, label in enumerate(RATINGS, start=1))
    return Question(key=key, wording=wording, help=help_text, choices=choices)


TOPICAL_CHAT_OWN = QuestionSet(
    key="topical-chat-own",
    title="Sentiment and sources of one's own message",
    subjects=frozenset({Subject.TURN}),
    questions=(
        Question(
            key="sentiment",
            wording="How did you feel when you wrote it?",
            help="Choose what comes nearest.",
            choices=tuple(Choice(each, each) for each in SENTIMENTS),
        ),
        Question(
            key="source",
            wording="What did you use for it?",
            help="Choose every text that went into your message, and personal knowledge if it was not only "
            "from the texts.",
            kind=Kind.SEVERAL,
            choices=tuple(Choice(key, title) for key, title in SOURCES.items()),
        ),
    ),
    source=_SOURCE,
)

TOPICAL_CHAT_PARTNER = QuestionSet(
    key="topical-chat-partner",
    title="Quality of the partner's message",
    subjects=frozenset({Subject.TURN}),
    questions=(_rating("quality", "How good is your partner's message?", "Judge it where it stands."),),
    source=_SOURCE,
    scores=(Score("quality", "Quality of messages", (Term("quality"),)),),
)

TOPICAL_CHAT_CONVERSATION = QuestionSet(
    key="topical-chat-conversation",
    title="Quality of the conversation",
    subjects=frozenset({Subject.DIALOGUE}),
    questions=(_rating("quality", "How good was the conversation?", "Your overall impression."),),
    source=_SOURCE,
    scores=(Score("quality", "Quality of conversations", (Term("quality"),)),),
)


def _yes_or_no(key: str, wording: str, help_text: str) -> Question:
    return Question(key=key, wording=wording, help=help_text, choices=YES_OR_NO)


TOPICAL_CHAT_SNIPPET = QuestionSet(
    key="topical-chat-snippet",
    title="A response to a conversation, and how it uses what is known",
    subjects=frozenset({Subject.TURN, Subject.RESPONSE}),
    questions=(
        _yes_or_no("comprehensible", "Is it comprehensible?", "Can you make out what is meant?"),
        _yes_or_no("on_topic", "Is it on topic?", "Does it go with what was said before?"),
        _yes_or_no("interesting", "Is it interesting?", "Does it tell or ask something worth the while?"),
        Question(
            key="knowledge",
            wording="How well does it use the knowledge that is shown?",
            help="Not what is true in general, but what stands beside the conversation.",
            choices=(
                Choice(0, "Not at all"),
                Choice(1, "A little"),
                Choice(2, "Fairly well"),
                Choice(3, "Very well"),
            ),
        ),
        _yes_or_no("go_on", "Would you like to go on with the conversation?", "After this response."),
    ),
    source="Gopalakrishnan et al. 2019, Topical-Chat, Interspeech, section 6, table 4",
    scores=(
        Score("comprehensible", "Comprehensible", (Term("comprehensible", choice=True),)),
        Score("on_topic", "On topic", (Term("on_topic", choice=True),)),
        Score("interesting", "Interesting", (Term("interesting", choice=True),)),
        Score("knowledge", "Use of knowledge, 0 to 3", (Term("knowledge"),)),
        Score("go_on", "Would go on", (Term("go_on", choice=True),)),
    ),
)
