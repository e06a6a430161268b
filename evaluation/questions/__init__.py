"""Question sets: what raters are asked, declared once for forms, validation, storage, statistics, exports.

To add a set, write a file in `sets` with a `QuestionSet`; here name it, with its translations, and list it in
`QUESTION_SETS`. Researchers declare sets as JSON (`QuestionSet.from_json`). Everything else follows from the
declaration.
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches

from evaluation.questions.declarations import QuestionSet, in_every_language
from evaluation.questions.parts import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIED,
    Answer,
    Choice,
    Combine,
    Condition,
    Example,
    Kind,
    Level,
    Question,
    Scalar,
    Scale,
    Score,
    Subject,
    Term,
    default_scores,
    is_same,
)
from evaluation.questions.scores import (
    bounds,
    coded_answer,
    coded_answers,
    has_choice,
    score_values,
    side_outcomes,
    term_values,
)
from evaluation.questions.sets import (
    assistants,
    context_fitness,
    goals,
    identity,
    participants,
    preference,
    ratings,
    ssa,
    topical_chat,
)
from evaluation.questions.validation import (
    AnswersError,
    DeclarationError,
    UnknownQuestionSetError,
    refuse_with,
)

__all__ = [
    "BOTH_BAD",
    "CONTEXT_FITNESS",
    "DEMOGRAPHICS",
    "FEEDBACK",
    "FIRST",
    "GOAL",
    "HELPFUL_HARMLESS_HONEST",
    "HUMAN_LIKENESS",
    "IDENTITY_REPLY",
    "LIKERT",
    "PREFERENCE",
    "PREFERENCES",
    "PREFERENCE_BOTH_BAD",
    "QUESTION_SETS",
    "REPLY_IMPRESSION",
    "SECOND",
    "SSA",
    "SSA_REASONS",
    "TIED",
    "TOPICAL_CHAT_CONVERSATION",
    "TOPICAL_CHAT_OWN",
    "TOPICAL_CHAT_PARTNER",
    "TOPICAL_CHAT_SNIPPET",
    "VOTES",
    "Answer",
    "AnswersError",
    "Choice",
    "Combine",
    "Condition",
    "DeclarationError",
    "Example",
    "Kind",
    "Level",
    "Question",
    "QuestionSet",
    "Scalar",
    "Scale",
    "Score",
    "Subject",
    "Term",
    "UnknownQuestionSetError",
    "bounds",
    "coded_answer",
    "coded_answers",
    "default_scores",
    "has_choice",
    "is_same",
    "question_set",
    "refuse_with",
    "score_values",
    "side_outcomes",
    "term_values",
]

SSA = in_every_language(ssa.SSA)
SSA_REASONS = in_every_language(ssa.SSA_REASONS)
HUMAN_LIKENESS = in_every_language(ratings.HUMAN_LIKENESS)
LIKERT = in_every_language(ratings.LIKERT)
VOTES = in_every_language(ratings.VOTES)
PREFERENCE = in_every_language(preference.PREFERENCE)
PREFERENCE_BOTH_BAD = in_every_language(preference.PREFERENCE_BOTH_BAD)
PREFERENCES = in_every_language(preference.PREFERENCES)
REPLY_IMPRESSION = in_every_language(identity.REPLY_IMPRESSION)
TOPICAL_CHAT_OWN = in_every_language(topical_chat.TOPICAL_CHAT_OWN)
TOPICAL_CHAT_PARTNER = in_every_language(topical_chat.TOPICAL_CHAT_PARTNER)
TOPICAL_CHAT_CONVERSATION = in_every_language(topical_chat.TOPICAL_CHAT_CONVERSATION)
TOPICAL_CHAT_SNIPPET = in_every_language(topical_chat.TOPICAL_CHAT_SNIPPET)
IDENTITY_REPLY = in_every_language(identity.IDENTITY_REPLY)
CONTEXT_FITNESS = in_every_language(context_fitness.CONTEXT_FITNESS)
DEMOGRAPHICS = in_every_language(participants.DEMOGRAPHICS)
FEEDBACK = in_every_language(participants.FEEDBACK)
GOAL = in_every_language(goals.GOAL)
HELPFUL_HARMLESS_HONEST = in_every_language(assistants.HELPFUL_HARMLESS_HONEST)

QUESTION_SETS: Mapping[str, QuestionSet] = {
    s.key: s
    for s in (
        SSA,
        SSA_REASONS,
        HUMAN_LIKENESS,
        LIKERT,
        VOTES,
        PREFERENCE,
        PREFERENCE_BOTH_BAD,
        PREFERENCES,
        REPLY_IMPRESSION,
        TOPICAL_CHAT_OWN,
        TOPICAL_CHAT_PARTNER,
        TOPICAL_CHAT_CONVERSATION,
        TOPICAL_CHAT_SNIPPET,
        IDENTITY_REPLY,
        CONTEXT_FITNESS,
        DEMOGRAPHICS,
        FEEDBACK,
        GOAL,
        HELPFUL_HARMLESS_HONEST,
    )
}
"""The sets that come with Turnwise."""


def question_set(
    key: str, declared: Callable[[str], QuestionSet | None] | None = None, own: Iterable[str] = ()
) -> QuestionSet:
    """Find the question set with this key, among those of Turnwise and those that researchers declared.

    Args:
        key: of the set.
        declared: function that finds a researcher's set by its key, or returns None.
        own: further keys that the refusal lists and suggests: those of researchers' sets.

    Raises:
        UnknownQuestionSetError: no such set; the message suggests the nearest key and lists `own` and all
            that come with Turnwise.
    """
    questions = QUESTION_SETS.get(key) or (declared(key) if declared else None)
    if questions is not None:
        return questions
    known = [*sorted(own), *sorted(QUESTION_SETS)]
    near = get_close_matches(key, known, n=1)
    suggestion = f" Did you mean '{near[0]}'?" if near else ""
    raise UnknownQuestionSetError(
        f"No question set is declared as '{key}'.{suggestion} Declared: {', '.join(known)}. "
        f"To add one, declare it on the page Questions, or in evaluation/questions/sets."
    )
