"""What a declaration of a question set must hold; each fault names its field and the cure."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from evaluation.questions.answers import checked
from evaluation.questions.errors import AnswersError, DeclarationError
from evaluation.questions.parts import Example, Kind, Question, Score, Subject, Term, is_same

if TYPE_CHECKING:
    from evaluation.questions.declarations import QuestionSet

MOST_QUESTIONS = 40
MOST_CHOICES = 50
MOST_SCORES = 200
MOST_EXAMPLES = 20
LONGEST_TEXT_ANSWER = 4000
_LARGEST = 1_000_000

_SHORT, _CAPTION, _LONG = 300, 120, 4000
_SET_KEY = re.compile(r"[a-z][a-z0-9-]{0,39}")
_KEY = re.compile(r"[a-z][a-z0-9_]{0,39}")
_SCORE_KEY = re.compile(r"[a-z][a-z0-9_.]{0,49}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")

# Columns of tables and fields of exports beside which the answers stand.
RESERVED = frozenset(
    ("answer_ms", "answers", "ask", "asks_reason", "bot", "bot_version", "context", "dialogue",
     "dialogue_ending", "fallback", "in_primary_analysis", "item", "judged_in", "label_changes",
     "labelled_at", "latency_ms", "material", "moment", "number", "occasion", "origin", "position",
     "question_set", "rater", "rater_excluded", "remarks", "response", "shown_ms", "sides_swapped", "study",
     "subject", "turn")
)  # fmt: skip


def faults_of_questions(questions: "QuestionSet") -> Iterator[DeclarationError]:
    """What is wrong with the key, the subjects or the questions of a set."""
    yield from _check_key("key", questions.key, _SET_KEY, "hyphens")
    yield from _check_text("title", questions.title, _CAPTION)
    yield from _check_text("source", questions.source, _SHORT)
    if not questions.subjects:
        yield DeclarationError("subjects", "there is none.", "Say what the questions can be asked about.")
    yield from _check_number("questions", len(questions.questions), 1, MOST_QUESTIONS)
    earlier: dict[str, Question] = {}
    for number, question in enumerate(questions.questions[:MOST_QUESTIONS]):
        yield from _check_question(f"questions[{number}]", question, earlier)
        earlier.setdefault(question.key, question)


def faults_of_scores_and_texts(questions: "QuestionSet", *, asks: bool) -> Iterator[DeclarationError]:
    """What is wrong with the scores, the headline, the examples or the translations of a set.

    Args:
        questions: the set.
        asks: whether its questions are right, so that answers can be held against them.
    """
    yield from _check_number("scores", len(questions.scores), 0, MOST_SCORES)
    seen: set[str] = set()
    for number, score in enumerate(questions.scores[:MOST_SCORES]):
        yield from _check_score(f"scores[{number}]", score, questions, seen)
        seen.add(score.key)
    if questions.headline and questions.headline not in seen:
        listed = ", ".join(sorted(seen)) or "none"
        yield DeclarationError(
            "headline", f"“{questions.headline}” is not the key of a score.", f"Choose one of: {listed}."
        )
    yield from _check_number("examples", len(questions.examples), 0, MOST_EXAMPLES)
    for number, example in enumerate(questions.examples[:MOST_EXAMPLES]):
        yield from _check_example(f"examples[{number}]", example, questions, asks=asks)
    yield from _check_translations(questions)


def _check_example(
    where: str, example: Example, questions: "QuestionSet", *, asks: bool
) -> Iterator[DeclarationError]:
    for number, (_, said) in enumerate(example.context):
        yield from _check_text(f"{where}.context[{number}]", said, _LONG)
    of_contexts = questions.subjects == {Subject.CONTEXT}
    yield from _check_text(f"{where}.response", example.response, _LONG, empty=of_contexts)
    if of_contexts and not example.context:
        yield DeclarationError(f"{where}.context", "it is empty.", "Write the context that is judged.")
    yield from _check_text(f"{where}.why", example.why, _LONG)
    if asks:
        try:
            checked(questions, example.answers)
        except AnswersError as error:
            yield DeclarationError(f"{where}.answers", error.message, "Give the right answers.")


def _check_question(
    where: str, question: Question, earlier: Mapping[str, Question]
) -> Iterator[DeclarationError]:
    yield from _check_key(f"{where}.key", question.key, _KEY, "underscores")
    if question.key in earlier:
        yield DeclarationError(
            f"{where}.key", f"“{question.key}” is declared twice.", "Give each question a key of its own."
        )
    if question.key in RESERVED:
        yield DeclarationError(
            f"{where}.key", f"“{question.key}” is a column of every export.", "Choose another key."
        )
    yield from _check_text(f"{where}.wording", question.wording, _SHORT)
    yield from _check_text(f"{where}.help", question.help, _LONG, empty=True)
    yield from _check_answers(where, question)
    yield from _check_condition(where, question, earlier)
    if question.otherwise is not None:
        yield from _check_otherwise(where, question)


def _check_answers(where: str, question: Question) -> Iterator[DeclarationError]:
    if question.kind is Kind.TEXT:
        if question.choices or question.scale:
            yield DeclarationError(
                f"{where}.choices", "free text has none.", "Leave choices and scale out, or choose a kind."
            )
        yield from _check_number(f"{where}.longest", question.longest, 1, LONGEST_TEXT_ANSWER)
    elif question.kind is Kind.SCALE:
        yield from _check_scale(where, question)
    elif question.scale:
        yield DeclarationError(f"{where}.scale", f"the kind is {question.kind}.", "Choose the kind scale.")
    else:
        yield from _check_choices(f"{where}.choices", question)


def _check_scale(where: str, question: Question) -> Iterator[DeclarationError]:
    scale = question.scale
    if scale is None:
        yield DeclarationError(f"{where}.scale", "there is none.", "Give its lowest and its highest number.")
        return
    points = scale.high - scale.low + 1
    if points < 2:
        yield DeclarationError(
            f"{where}.scale.high",
            f"{scale.high} is not above the lowest number, {scale.low}.",
            "Give a higher number.",
        )
    yield from _check_number(f"{where}.scale", max(points, 2), 2, MOST_CHOICES)
    if max(abs(scale.low), abs(scale.high)) > _LARGEST:
        yield DeclarationError(
            f"{where}.scale", f"{scale.low} to {scale.high} is out of range.", f"Stay within {_LARGEST}."
        )
    yield from _check_text(f"{where}.scale.low_caption", scale.low_caption, _CAPTION)
    yield from _check_text(f"{where}.scale.high_caption", scale.high_caption, _CAPTION)
    if 2 <= points <= MOST_CHOICES and question.choices != scale.points:  # else they would not be built
        yield DeclarationError(
            f"{where}.choices", "a scale has its numbers.", "Leave the choices out; they follow from it."
        )


def _check_choices(where: str, question: Question) -> Iterator[DeclarationError]:
    yield from _check_number(where, len(question.choices), 2, MOST_CHOICES)
    for number, choice in enumerate(question.choices[:MOST_CHOICES]):
        at = f"{where}[{number}]"
        yield from _check_text(f"{at}.label", choice.label, _CAPTION)
        yield from _check_text(f"{at}.hint", choice.hint, _CAPTION, empty=True)
        if isinstance(choice.value, str):
            yield from _check_text(f"{at}.value", choice.value, _CAPTION)
        elif abs(choice.value) > _LARGEST:
            yield DeclarationError(f"{at}.value", f"{choice.value} is too large.", "Take a smaller number.")
        for name in ("value", "label"):
            said = getattr(choice, name)
            if any(is_same(said, getattr(other, name)) for other in question.choices[:number]):
                yield DeclarationError(
                    f"{at}.{name}", f"“{said}” appears twice.", "Give each choice its own."
                )
    values = [choice.value for choice in question.choices]
    if question.has_mean and values != sorted(values):
        yield DeclarationError(where, "the numbers do not rise.", "Put the lowest first.")


def _check_condition(
    where: str, question: Question, earlier: Mapping[str, Question]
) -> Iterator[DeclarationError]:
    condition = question.asked_if
    if condition is None:
        return
    at = f"{where}.asked_if"
    before = earlier.get(condition.question)
    if before is None:
        yield DeclarationError(
            f"{at}.question",
            f"“{condition.question}” does not come before this question.",
            "Choose an earlier question, or change their order.",
        )
        return
    if not condition.any_of:
        yield DeclarationError(f"{at}.any_of", "there is no answer.", "Name at least one.")
    for value in condition.any_of:
        if before.index_of(value) is None:
            yield DeclarationError(
                f"{at}.any_of",
                f"“{value}” is not a choice of “{before.wording}”",
                f"Choose among: {', '.join(str(choice.value) for choice in before.choices) or 'none'}.",
            )


def _check_otherwise(where: str, question: Question) -> Iterator[DeclarationError]:
    takes_one = question.kind in (Kind.ONE, Kind.SCALE)
    if question.asked_if is None or not takes_one or question.index_of(question.otherwise) is None:
        yield DeclarationError(
            f"{where}.otherwise",
            f"“{question.otherwise}” cannot follow where the question is not asked.",
            "Choose one of its choices, for a question with a condition, or leave it out.",
        )


def _check_score(
    where: str, score: Score, questions: "QuestionSet", seen: Iterable[str]
) -> Iterator[DeclarationError]:
    yield from _check_key(f"{where}.key", score.key, _SCORE_KEY, "underscores or dots")
    if score.key in seen:
        yield DeclarationError(
            f"{where}.key", f"“{score.key}” is declared twice.", "Give each score a key of its own."
        )
    yield from _check_text(f"{where}.title", score.title, _SHORT + _CAPTION + 1)
    yield from _check_number(f"{where}.terms", len(score.terms), 1, MOST_QUESTIONS)
    for number, term in enumerate(score.terms):
        yield from _check_term(f"{where}.terms[{number}]", term, questions)
    if len({term.choice is None for term in score.terms}) > 1:
        yield DeclarationError(
            f"{where}.terms", "shares and numbers stand side by side.", "Make them two scores."
        )


def _check_term(where: str, term: Term, questions: "QuestionSet") -> Iterator[DeclarationError]:
    try:
        question = questions.question(term.question)
    except KeyError as error:
        yield DeclarationError(f"{where}.question", str(error.args[0]), "Choose one of them.")
        return
    if term.choice is None and not question.has_mean:
        yield DeclarationError(
            f"{where}.choice", f"answers to “{question.wording}” are not numbers.", "Name a choice."
        )
    if term.choice is not None and question.index_of(term.choice) is None:
        yield DeclarationError(
            f"{where}.choice", f"“{term.choice}” is not a choice of “{question.wording}”", "Name one of them."
        )


def _check_translations(questions: "QuestionSet") -> Iterator[DeclarationError]:
    known = set(texts_of(questions))
    for language, texts in questions.translations.items():
        where = f"translations.{language}"
        if not _LANGUAGE.fullmatch(language) or language == "en":
            yield DeclarationError(
                where, "this is not the code of another language.", "Use a code such as zh or pt-BR."
            )
        for english, text in texts.items():
            if english not in known:
                yield DeclarationError(
                    where,
                    f"“{english[:80]}” is not a text of this set.",
                    "Give the English text as declared.",
                )
            yield from _check_text(f"{where}, “{english[:40]}”", text, _LONG)


def texts_of(questions: "QuestionSet") -> Iterator[str]:
    """Every text of a set that a worker reads, in English, empty ones left out."""
    for question in questions.questions:
        yield from filter(None, (question.wording, question.help))
        for choice in question.choices:
            yield from filter(None, (choice.label, choice.hint))
    for example in questions.examples:
        yield from (said for _, said in example.context)
        yield from filter(None, (example.response, example.other, example.why))


def _check_key(where: str, key: str, pattern: re.Pattern[str], between: str) -> Iterator[DeclarationError]:
    if not pattern.fullmatch(key):
        yield DeclarationError(
            where,
            f"“{key[:60]}” cannot be a key.",
            f"Use small letters of English, digits and {between}, a letter first, at most 40 characters.",
        )


def _check_text(where: str, text: str, longest: int, *, empty: bool = False) -> Iterator[DeclarationError]:
    if not empty and not text.strip():
        yield DeclarationError(where, "it is empty.", "Write what people are to read.")
    if len(text) > longest:
        yield DeclarationError(where, f"it has {len(text)} characters; {longest} is the most.", "Shorten it.")


def _check_number(where: str, number: int, fewest: int, most: int) -> Iterator[DeclarationError]:
    if not fewest <= number <= most:
        yield DeclarationError(
            where, f"{number} is not from {fewest} to {most}.", "Add some, or leave some out."
        )
