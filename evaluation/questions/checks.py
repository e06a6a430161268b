"""Rules between the parts of a declaration; each fault names its field, and what to do."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from evaluation.questions.answers import checked
from evaluation.questions.parts import Choice, Example, Kind, Question, Score, Subject, Term, is_same
from evaluation.questions.validation import AnswersError, DeclarationError

# Columns of tables and fields of exports beside which the answers stand.
RESERVED = frozenset(
    ("answer_ms", "answers", "ask", "asks_reason", "bot", "bot_version", "cached_tokens", "completion_tokens",
     "condition", "context", "decided_at", "decided_by", "decided_questions", "decision", "decision_reason",
     "dialogue", "dialogue_ending", "first_seconds", "in_force", "in_primary_analysis", "item", "judged_in",
     "label_changes", "labelled_at", "latency_ms", "material", "model", "moment", "number", "occasion",
     "origin", "outcome", "outcome_before_stop", "picture", "picture_description", "position",
     "prompt_tokens", "question_set", "rater", "rater_excluded", "reasoning", "reasoning_tokens", "remarks",
     "reply_version", "reply_versions", "response", "scenario", "shown_ms", "sides_swapped", "study",
     "subject", "turn")
)  # fmt: skip

RESERVED_BEGINNING = "condition_"
"""Beginning of the columns with the levels of a study's factors."""


def faults_of_question(
    question: Question, earlier: Mapping[str, Question], *, all_known: bool
) -> Iterator[DeclarationError]:
    """Yield faults of a question, by itself and together with earlier questions.

    Args:
        question: a question whose fields are valid.
        earlier: by key, the valid questions before it.
        all_known: true if all questions before it are valid.
    """
    if question.key in earlier:
        yield DeclarationError(
            "key", f"“{question.key}” is declared twice.", "Give each question a key of its own."
        )
    if question.key in RESERVED or question.key.startswith(RESERVED_BEGINNING):
        yield DeclarationError("key", f"“{question.key}” is a column of every export.", "Choose another key.")
    yield from _faults_of_answers(question)
    yield from _faults_of_condition(question, earlier, all_known=all_known)
    if question.otherwise is not None:
        yield from _faults_of_otherwise(question)


def _faults_of_answers(question: Question) -> Iterator[DeclarationError]:
    """Problems with the choices, the scale or their absence, by the kind of question."""
    if question.kind is Kind.TEXT:
        if question.choices or question.scale:
            yield DeclarationError(
                "choices", "free text has none.", "Leave choices and scale out, or choose a kind."
            )
    elif question.kind is Kind.SCALE:
        if question.scale is None:
            yield DeclarationError("scale", "it is missing.", "Give its lowest and its highest number.")
        elif question.choices != question.scale.points:
            yield DeclarationError(
                "choices", "a scale has its numbers.", "Leave the choices out; they follow from it."
            )
    elif question.scale:
        yield DeclarationError("scale", f"the kind is {question.kind}.", "Choose the kind scale.")
    else:
        yield from _faults_of_choices(question)


def _faults_of_choices(question: Question) -> Iterator[DeclarationError]:
    count = len(question.choices)
    if count < 2:
        yield DeclarationError("choices", f"there are {count}; 2 is the fewest.", "Add some.")
    for number, choice in enumerate(question.choices):
        for name in ("value", "label"):
            if _is_repeated(choice, name, question.choices[:number]):
                yield DeclarationError(
                    f"choices[{number}].{name}",
                    f"“{getattr(choice, name)}” appears twice.",
                    "Give each choice its own.",
                )
    values = [choice.value for choice in question.choices]
    if question.has_mean and values != sorted(values):
        yield DeclarationError("choices", "the numbers do not rise.", "Put the lowest first.")


def _is_repeated(choice: Choice, name: str, earlier: Iterable[Choice]) -> bool:
    return any(is_same(getattr(choice, name), getattr(other, name)) for other in earlier)


def _faults_of_condition(
    question: Question, earlier: Mapping[str, Question], *, all_known: bool
) -> Iterator[DeclarationError]:
    condition = question.asked_if
    if condition is None:
        return
    before = earlier.get(condition.question)
    if before is None:
        if all_known:
            yield DeclarationError(
                "asked_if.question",
                f"“{condition.question}” does not come before this question.",
                "Choose an earlier question, or change their order.",
            )
        return
    for value in condition.any_of:
        if before.index_of(value) is None:
            yield DeclarationError(
                "asked_if.any_of",
                f"“{value}” is not a choice of “{before.wording}”",
                f"Choose among: {', '.join(str(choice.value) for choice in before.choices) or 'none'}.",
            )


def _faults_of_otherwise(question: Question) -> Iterator[DeclarationError]:
    takes_one = question.kind in (Kind.ONE, Kind.SCALE)
    if question.asked_if is None or not takes_one or question.index_of(question.otherwise) is None:
        yield DeclarationError(
            "otherwise",
            f"“{question.otherwise}” cannot follow where the question is not asked.",
            "Choose one of its choices, for a question with a condition, or leave it out.",
        )


def faults_of_score(
    score: Score, questions: Mapping[str, Question], earlier: Collection[str], *, all_known: bool
) -> Iterator[DeclarationError]:
    """Problems of a score with its questions, and with the keys of the scores before it.

    Args:
        score: a score whose fields are valid.
        questions: by key, the valid questions of the set.
        earlier: keys of the scores before it.
        all_known: true if all questions of the set are valid.
    """
    if score.key in earlier:
        yield DeclarationError(
            "key", f"“{score.key}” is declared twice.", "Give each score a key of its own."
        )
    for number, term in enumerate(score.terms):
        if term.question in questions:
            yield from _faults_of_term(f"terms[{number}].choice", term, questions[term.question])
        elif all_known:
            yield DeclarationError(
                f"terms[{number}].question",
                f"“{term.question}” is not a question of this set.",
                f"Choose one of: {', '.join(questions)}.",
            )
    if len({term.choice is None for term in score.terms}) > 1:
        yield DeclarationError("terms", "shares and numbers stand side by side.", "Make them two scores.")


def _faults_of_term(where: str, term: Term, question: Question) -> Iterator[DeclarationError]:
    if term.choice is None and not question.has_mean:
        yield DeclarationError(where, f"answers to “{question.wording}” are not numbers.", "Name a choice.")
    if term.choice is not None and question.index_of(term.choice) is None:
        yield DeclarationError(
            where, f"“{term.choice}” is not a choice of “{question.wording}”", "Name one of them."
        )


def faults_of_example(
    example: Example, subjects: Collection[Subject], questions: Sequence[Question] | None
) -> Iterator[DeclarationError]:
    """Problems of a worked example with what is judged, and with the questions; None: they are not valid."""
    if set(subjects) == {Subject.CONTEXT}:
        if not example.context:
            yield DeclarationError("context", "it is empty.", "Write the context that is judged.")
    elif not example.response.strip():
        yield DeclarationError("response", "it is empty.", "Write what people are to read.")
    if questions is not None:
        try:
            checked(questions, example.answers)
        except AnswersError as error:
            yield DeclarationError(f"answers.{error.question}", error.message, "Give the right answers.")


def faults_of_translations(
    translations: Mapping[str, Mapping[str, str]], texts_of_set: Collection[str] | None
) -> Iterator[DeclarationError]:
    """Problems of translations with the texts of their set; None: those are not valid."""
    for language, texts in translations.items():
        if language == "en":
            yield DeclarationError(
                language, "this is not the code of another language.", "Use a code such as zh or pt-BR."
            )
        for english in texts:
            if texts_of_set is not None and english not in texts_of_set:
                yield DeclarationError(
                    language,
                    f"“{english[:80]}” is not a text of this set.",
                    "Give the English text as declared.",
                )


def texts_of(questions: Iterable[Question], examples: Iterable[Example]) -> Iterator[str]:
    """Yield every English text of a set that workers read, except empty ones."""
    for question in questions:
        yield from filter(None, (question.wording, question.help))
        for choice in question.choices:
            yield from filter(None, (choice.label, choice.hint))
    for example in examples:
        yield from (text for _, text in example.context)
        yield from filter(None, (example.response, example.other, example.why))
