"""The declaration of a question set: the one schema by which pydantic reads, checks and writes its JSON.

The page of a set, the REST API and its description, files, and sets that are declared in Python all use it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from evaluation.questions import checks
from evaluation.questions.parts import Example, Question, Score, Subject, default_scores
from evaluation.questions.validation import (
    MOST_EXAMPLES,
    MOST_FAULTS,
    MOST_QUESTIONS,
    MOST_SCORES,
    Caption,
    DeclarationError,
    Language,
    Line,
    OptionalText,
    SetKey,
    Text,
    described,
    faults_of,
    refuse_with,
)
from evaluation.texts.cleaning import cleaned

FORMAT = 1
_TEXT = 100_000
T = TypeVar("T")


@dataclass(slots=True)
class _Progress:
    """The valid parts of a declaration that is being read, against which later parts are checked.

    Attributes:
        questions: by key.
        scores: by key.
        invalid: names of the lists that have an invalid member, so that nothing is said to be missing.
    """

    subjects: frozenset[Subject] = frozenset()
    questions: dict[str, Question] = field(default_factory=dict)
    scores: dict[str, Score] = field(default_factory=dict)
    examples: list[Example] = field(default_factory=list)
    invalid: set[str] = field(default_factory=set)


def _progress(info: ValidationInfo) -> _Progress:
    assert isinstance(info.context, _Progress)  # `validated` gives it
    return info.context


def _member(name: str, faults: Callable[[T, _Progress], Iterator[DeclarationError]]) -> WrapValidator:
    """Check each member of the list with this name among the valid parts before it."""

    def validate(value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> T:
        progress = _progress(info)
        try:
            member: T = handler(value)
            refuse_with(faults(member, progress))
        except ValueError:
            progress.invalid.add(name)
            raise
        return member

    return WrapValidator(validate)


def _question(question: Question, read: _Progress) -> Iterator[DeclarationError]:
    all_known = "questions" not in read.invalid
    faults = [*checks.faults_of_question(question, read.questions, all_known=all_known)]
    read.questions.setdefault(question.key, question)
    yield from faults


def _score(score: Score, read: _Progress) -> Iterator[DeclarationError]:
    all_known = "questions" not in read.invalid
    faults = [*checks.faults_of_score(score, read.questions, read.scores, all_known=all_known)]
    read.scores.setdefault(score.key, score)
    yield from faults


def _example(example: Example, read: _Progress) -> Iterator[DeclarationError]:
    questions = None if "questions" in read.invalid else [*read.questions.values()]
    read.examples.append(example)
    yield from checks.faults_of_example(example, read.subjects, questions)


def _subjects(subjects: frozenset[Subject], info: ValidationInfo) -> frozenset[Subject]:
    if not subjects:
        raise DeclarationError("", "there is none.", "Say what the questions can be asked about.")
    _progress(info).subjects = subjects
    return subjects


def _with_defaults(scores: tuple[Score, ...], info: ValidationInfo) -> tuple[Score, ...]:
    """The scores; if none is declared, those that follow from the questions."""
    read = _progress(info)
    if scores or "questions" in read.invalid:
        return scores
    defaults = default_scores(read.questions.values())
    if len(defaults) > MOST_SCORES:
        raise DeclarationError(
            "", f"{len(defaults)} follow from the questions; {MOST_SCORES} is the most.", "Declare fewer."
        )
    read.scores.update((score.key, score) for score in defaults)
    return defaults


def _headline(key: str, info: ValidationInfo) -> str:
    """The key; if none is given, that of the first score."""
    read = _progress(info)
    if not key:
        return next(iter(read.scores), "")
    if key not in read.scores and not read.invalid & {"questions", "scores"}:
        listed = ", ".join(sorted(read.scores)) or "none"
        raise DeclarationError("", f"“{key}” is not the key of a score.", f"Choose one of: {listed}.")
    return key


def _translations(
    translations: Mapping[str, Mapping[str, str]], info: ValidationInfo
) -> Mapping[str, Mapping[str, str]]:
    read = _progress(info)
    is_known = not read.invalid & {"questions", "examples"}
    texts = {*checks.texts_of(read.questions.values(), read.examples)} if is_known else None
    refuse_with(checks.faults_of_translations(translations, texts))
    return translations


def _with_format(schema: dict[str, Any]) -> None:
    schema["properties"] = {"format": {"const": FORMAT, "title": "Format"}, **schema["properties"]}
    schema["required"] = ["format", *schema["required"]]


@dataclass(frozen=True, slots=True)
class Declaration:
    """Questions that are answered together about one subject, and the scores that follow from the answers.

    All texts are English. `translations` has them in other languages; a text that is missing there stays
    English.

    Attributes:
        key: name in the registry, in storage and in exports.
        title: name for people.
        subjects: the kinds of subject that it can be asked about.
        questions: in the order asked; a condition refers to an earlier question only.
        source: the publication that defines it, or who does.
        scores: what a report shows; none given: the share of yes, the share of each choice, the mean of
            numbers, and nothing of free text.
        headline: key of the score that represents the set where there is room for one; "": the first.
        examples: worked examples for the instructions.
        translations: by language code, by English text, the translation.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", json_schema_extra=_with_format)

    key: Annotated[
        SetKey,
        Field(
            title="Key",
            description="Short name in studies and files, such as tone: a to z, 0 to 9, hyphens. It stays.",
        ),
    ]
    title: Annotated[Caption, Field(title="Title", description="For researchers.")]
    subjects: Annotated[
        frozenset[Subject],
        Field(title="What it can be asked about", json_schema_extra={"minItems": 1}),
        AfterValidator(_subjects),
    ]
    questions: Annotated[
        tuple[Annotated[Question, _member("questions", _question)], ...],
        Field(title="Questions", min_length=1, max_length=MOST_QUESTIONS),
    ]
    source: Annotated[Line, Field(title="Source", description="The publication, or who wrote them.")]
    scores: Annotated[
        tuple[Annotated[Score, _member("scores", _score)], ...],
        Field(title="Scores", max_length=MOST_SCORES, validate_default=True),
        AfterValidator(_with_defaults),
    ] = ()
    headline: Annotated[
        OptionalText,
        Field(
            title="The score that represents the set",
            description="Where there is room for only one, as in lists of studies.",
            validate_default=True,
        ),
        AfterValidator(_headline),
    ] = ""
    examples: Annotated[
        tuple[Annotated[Example, _member("examples", _example)], ...],
        Field(title="Worked examples", max_length=MOST_EXAMPLES),
    ] = ()
    translations: Annotated[
        Mapping[Language, Mapping[str, Text]], Field(title="Languages"), AfterValidator(_translations)
    ] = field(default_factory=dict, hash=False)

    def question(self, key: str) -> Question:
        """The question with this key; raises `KeyError` that lists the keys."""
        for question in self.questions:
            if question.key == key:
                return question
        keys = ", ".join(q.key for q in self.questions)
        raise KeyError(f"Question set '{self.key}' has no question '{key}'. It has: {keys}.")

    def score(self, key: str) -> Score:
        """The score with this key; raises `KeyError` that lists the keys."""
        for score in self.scores:
            if score.key == key:
                return score
        keys = ", ".join(s.key for s in self.scores) or "none"
        raise KeyError(f"Question set '{self.key}' has no score '{key}'. It has: {keys}.")


_ADAPTER = TypeAdapter(Declaration)


@cache
def json_schema() -> dict[str, Any]:
    """The JSON schema of a declaration, as the API describes it and the page labels its fields."""
    return _ADAPTER.json_schema()


def field_schema(*path: str) -> Mapping[str, Any]:
    """Title, description and limits of the field with this path, such as `("questions", "wording")`."""
    return described(json_schema(), path)


def validated(fields: Mapping[str, object]) -> Declaration:
    """The declaration with these fields, built in Python or parsed from JSON.

    Raises:
        DeclarationError: names each field, what is wrong with it, and the cure.
    """
    try:
        return _ADAPTER.validate_python(dict(fields), context=_Progress())
    except ValidationError as error:
        refuse_with(islice(faults_of(error, json_schema()), MOST_FAULTS))
        raise


def from_json(declared: object) -> Declaration:
    """The declaration of a JSON object; every text is cleaned, nothing unknown is accepted.

    Raises:
        DeclarationError: as `validated`.
    """
    if not isinstance(declared, Mapping):
        raise DeclarationError("declaration", f"{declared!r:.80} is not a JSON object.", "Give an object.")
    fields = dict(declared)
    version = fields.pop("format", None)
    if type(version) is not int or version != FORMAT:
        raise DeclarationError("format", f"{version!r:.80} cannot be read.", f"This version reads {FORMAT}.")
    try:
        readable = {str(name): _cleaned(value) for name, value in fields.items()}
    except RecursionError:
        raise DeclarationError("declaration", "it is nested too deeply.", "Give a declaration.") from None
    return validated(readable)


def _cleaned(value: object) -> object:
    """Clean every text of a JSON value."""
    if isinstance(value, str):
        return cleaned(value, _TEXT)
    if isinstance(value, Mapping):
        return {cleaned(str(key), _TEXT): _cleaned(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(each) for each in value]
    return value


def to_json(declaration: Declaration) -> dict[str, Any]:
    """All fields, sets in order; equal declarations give equal objects."""
    fields: dict[str, Any] = _ADAPTER.dump_python(declaration, mode="json")
    fields["subjects"] = sorted(fields["subjects"])
    for question in fields["questions"]:
        if question["scale"] is not None:
            del question["choices"]  # they follow from the scale
    return {"format": FORMAT, **fields}
