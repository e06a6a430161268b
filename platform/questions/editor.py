"""What the page of a draft shows: its fields with their errors, and where the focus goes."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evaluation.questions import DeclarationError, Scalar, Subject
from questions.declaring import is_numeric, values_of
from questions.drafts import Draft, LanguageDraft, QuestionDraft, ScoreDraft, texts_of
from questions.forms import IN_WORDS

KINDS = {
    "one": "One of a list",
    "scale": "A scale with two ends",
    "several": "Any of a list",
    "text": "Free text",
}
STORED = {
    "names": "words: the caption, or what you write beside it",
    "numbers": "numbers in an order, which have a mean",
    "yes_no": "yes and no",
}
COMBINED = {"mean": "their mean", "sum": "their sum"}

# Of a new row, the field to begin with.
_FIRST = {
    "questions": "wording",
    "choices": "label",
    "scores": "title",
    "examples": "context",
    "languages": "code",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a field: what is sent, what is read, whether it is chosen."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the form.

    Attributes:
        name: its path; with `[]` if it is a list.
        control: line, area, number, check, select or checks.
        shows: whether another choice shows other fields, so that the page is asked for them.
    """

    name: str
    label: str
    control: str
    value: str = ""
    help: str = ""
    error: str = ""
    options: tuple[Option, ...] = ()
    optional: bool = False
    shows: bool = False
    most: int = 4000

    @property
    def id(self) -> str:
        return id_of(self.name)


@dataclass(frozen=True, slots=True)
class Row:
    """One of several that can be moved and removed.

    Attributes:
        at: its path.
        title: what it is called.
        parts: its fields by name.
        error: what is wrong with it as a whole.
        rows: what stands within it, such as choices.
        shown: names of the groups of fields that matter now.
    """

    at: str
    id: str
    title: str
    is_first: bool
    is_last: bool
    parts: dict[str, Field]
    error: str = ""
    rows: tuple["Row", ...] = ()
    shown: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        return id_of(self.at)

    @property
    def fields(self) -> Iterable[Field]:
        return self.parts.values()


def id_of(path: str) -> str:
    """The id of the element with this path."""
    return path.removesuffix("[]").replace(".", "-")


def place_of(error: DeclarationError, draft: Draft) -> str:
    """The path of the field that an error of a declaration is about."""
    path = re.sub(r"\[(\d+)\]", r".\1", error.field.partition(",")[0])
    path = re.sub(r"\.scale$", ".high", path).replace(".scale.", ".")
    path = path.replace(".asked_if.question", ".after")
    path = re.sub(r"\.(asked_if|any_of|terms|answers|context)\b.*", _list_of, path)
    if path.startswith("translations."):
        codes = [each.code.strip() for each in draft.languages]
        code = path.removeprefix("translations.")
        path = f"languages.{codes.index(code) if code in codes else 0}.code"
    return path


def _list_of(found: "re.Match[str]") -> str:
    return ".any_of" if found[1] == "asked_if" else f".{found[1]}"


class Editor:
    """A draft as its page shows it.

    Args:
        draft: what stands in the fields.
        is_new: whether the set has no name yet.
        error: what is wrong with the declaration.
        step: what a button did just now, and the path that it led to.
    """

    def __init__(
        self,
        draft: Draft,
        *,
        is_new: bool,
        error: DeclarationError | None = None,
        step: tuple[str, str] = ("", ""),
    ) -> None:
        self.draft, self.is_new, self.error = draft, is_new, error
        self._at = place_of(error, draft) if error else ""
        self._verb, self._path = step

    @property
    def said(self) -> str:
        """What the last step did, for those who do not see it."""
        place = self._path.rpartition(".")[2]
        moved = f"to place {int(place) + 1}." if place.isdecimal() else ""
        said = {
            "add": "Added.",
            "remove": "Removed.",
            "up": f"Moved up {moved}",
            "down": f"Moved down {moved}",
        }
        return said.get(self._verb, "") if self._path else ""

    @property
    def focus(self) -> str:
        """Id of the element that has the focus now."""
        if self.error:
            return id_of(self._at)
        if not self._path:
            return ""
        whole, _, number = self._path.rpartition(".")
        if self._verb == "remove" or not number.isdecimal():
            return f"add-{id_of(self._path)}"
        if self._verb in ("up", "down"):
            return f"{self._moves}-{id_of(self._path)}"
        return id_of(f"{self._path}.{_FIRST[whole.rpartition('.')[2]]}")

    @property
    def _moves(self) -> str:
        """The button to move on in the same direction; at the end the other one."""
        whole, _, number = self._path.rpartition(".")
        last = len(getattr(self.draft, whole)) - 1
        at_end = int(number) == (0 if self._verb == "up" else last)
        return {"up": "down", "down": "up"}[self._verb] if at_end else self._verb

    # --- the fields -------------------------------------------------------------------------------

    @cached_property
    def set_fields(self) -> list[Field]:
        draft = self.draft
        key = self._field(
            "key", "Key", "line", draft.key, most=34,
            help="Short name in studies and files, such as tone: small letters, digits, hyphens. It stays.",
        )  # fmt: skip
        about = [Option(s.value, words, s.value in draft.subjects) for s, words in IN_WORDS.items()]
        return [
            self._field("title", "Title", "line", draft.title, help="For researchers.", most=120),
            *([key] if self.is_new else []),
            self._field(
                "source", "Source", "line", draft.source, help="The publication, or who wrote them.", most=300
            ),
            self._field("subjects[]", "What can be judged with it", "checks", options=tuple(about)),
        ]  # fmt: skip

    @cached_property
    def questions(self) -> list[Row]:
        return [self._question(n, each) for n, each in enumerate(self.draft.questions)]

    @cached_property
    def scores(self) -> list[Row]:
        return [self._score(n, each) for n, each in enumerate(self.draft.scores)]

    @cached_property
    def headline(self) -> Field:
        options = [Option("", "the first one", not self.draft.headline)]
        options += [
            Option(each.id, each.title or each.key or f"Score {n}", each.id == self.draft.headline)
            for n, each in enumerate(self.draft.scores, 1)
        ]
        return self._field(
            "headline", "The score that stands for the set", "select", options=tuple(options),
            help="Where there is room for one only, as in lists of studies.",
        )  # fmt: skip

    @cached_property
    def examples(self) -> list[Row]:
        rows = []
        for n, each in enumerate(self.draft.examples):
            at = f"examples.{n}"
            parts = {
                "context": self._field(
                    f"{at}.context", "What was said before", "area", each.context, optional=True,
                    help="A line for each turn: “You: …” or “Chatbot: …”",
                ),
                "response": self._field(f"{at}.response", "What is judged", "area", each.response),
                **self._second(at, each.other),
                **self._answers(at, each.answers),
                "why": self._field(f"{at}.why", "Why", "area", each.why, help="A sentence or two."),
            }  # fmt: skip
            rows.append(self._row("examples", n, each.id, f"Example {n + 1}", parts))
        return rows

    def _second(self, at: str, other: str) -> dict[str, Field]:
        """The second response of a worked example, of a set that is asked about pairs."""
        if Subject.PAIR.value not in self.draft.subjects and not other:
            return {}
        return {"other": self._field(f"{at}.other", "The second response", "area", other)}

    @cached_property
    def languages(self) -> list[Row]:
        return [self._language(n, each) for n, each in enumerate(self.draft.languages)]

    @cached_property
    def codes(self) -> list[str]:
        """The languages that a preview can be in."""
        return [each.code.strip() for each in self.draft.languages if each.code.strip()]

    @cached_property
    def errors(self) -> dict[str, str]:
        """What is wrong with whole sections, by their name."""
        names = ("questions", "scores", "examples")
        return {name: self._error(name) for name in names if self._at == name}

    @property
    def where(self) -> str:
        """In words, the field that the error is about."""
        for field in self.set_fields:
            if field.name.removesuffix("[]") == self._at:
                return field.label
        for row in (*self.questions, *self.scores, *self.examples, *self.languages):
            for within in (row, *row.rows):
                for field in within.fields:
                    if field.name.removesuffix("[]") == self._at:
                        return f"{row.title}, {field.label}"
        return self.error.field if self.error else ""

    # --- rows ------------------------------------------------------------------------------------

    def _question(self, n: int, question: QuestionDraft) -> Row:
        at = f"questions.{n}"
        title = f"Question {n + 1}" + (
            f": {question.wording.strip()[:80]}" if question.wording.strip() else ""
        )
        parts = {
            "wording": self._field(f"{at}.wording", "Wording", "line", question.wording, most=300),
            "key": self._field(
                f"{at}.key", "Key", "line", question.key, most=40,
                help="Name of its column in files, such as polite. Small letters, digits and _.",
            ),
            "kind": self._select(f"{at}.kind", "It is answered with", KINDS, question.kind, shows=True),
            **self._of_lists(at, question),
            **self._of_scales(at, question),
            "longest": self._field(f"{at}.longest", "Most characters", "number", question.longest),
            "help": self._field(
                f"{at}.help", "Help", "area", question.help, optional=True,
                help="Workers read it in the instructions, and beside the question.",
            ),
            "optional": self._check(f"{at}.optional", "Workers may skip it", question.optional),
            **self._condition(at, n, question),
        }  # fmt: skip
        groups = {"one": "list", "several": "list", "scale": "scale", "text": "text"}
        shown = {groups.get(question.kind, "list"), "condition" if question.after else "always"}
        row = self._row("questions", n, question.id, title, parts)
        error = self._error(f"{at}.choices") or row.error
        return replace(row, error=error, rows=tuple(self._choices(at, question)), shown=frozenset(shown))

    def _of_lists(self, at: str, question: QuestionDraft) -> dict[str, Field]:
        return {"stored": self._select(f"{at}.stored", "Answers are stored as", STORED, question.stored)}

    def _choices(self, at: str, question: QuestionDraft) -> Iterable[Row]:
        for n, each in enumerate(question.choices):
            place = f"{at}.choices.{n}"
            parts = {
                "label": self._field(f"{place}.label", f"Choice {n + 1}", "line", each.label, most=120),
                "value": self._field(f"{place}.value", "Stored as", "line", each.value, most=120),
                "hint": self._field(f"{place}.hint", "Hint below", "line", each.hint, most=120),
            }
            yield Row(place, each.id, f"choice {n + 1} of question {int(at[10:]) + 1}", n == 0, False, parts)

    def _of_scales(self, at: str, question: QuestionDraft) -> dict[str, Field]:
        return {
            "low": self._field(f"{at}.low", "Lowest number", "number", question.low),
            "low_caption": self._field(f"{at}.low_caption", "means", "line", question.low_caption, most=120),
            "high": self._field(f"{at}.high", "Highest number", "number", question.high),
            "high_caption": self._field(
                f"{at}.high_caption", "means", "line", question.high_caption, most=120
            ),
            "equal_steps": self._check(
                f"{at}.equal_steps", "Workers are told that all steps are of equal size", question.equal_steps
            ),
        }

    def _condition(self, at: str, n: int, question: QuestionDraft) -> dict[str, Field]:
        earlier = [each for each in self.draft.questions[:n] if each.kind != "text"]
        chosen = self.draft.question(question.after)
        if chosen and chosen not in earlier:
            earlier.append(chosen)  # was moved below: the set is refused, and the field says why
        options = [Option("", "always", not question.after)]
        options += [
            Option(each.id, f"after some answers to “{each.wording or each.key}”", each.id == question.after)
            for each in earlier
        ]
        values = values_of(chosen) if chosen else []
        own = values_of(question) if question.kind in ("one", "scale") else []
        return {
            "after": self._field(
                f"{at}.after", "It is asked", "select", options=tuple(options), shows=True
            ),
            "any_of": self._field(
                f"{at}.any_of[]", "after any of these answers", "checks",
                options=_offered(values, question.any_of),
            ),
            "otherwise": self._field(
                f"{at}.otherwise", "Where it is not asked, count it as", "select",
                options=(
                    Option("", "no answer", not question.otherwise),
                    *_offered(own, [question.otherwise]),
                ),
            ),
        }  # fmt: skip

    def _score(self, n: int, score: ScoreDraft) -> Row:
        at = f"scores.{n}"
        parts = {
            "title": self._field(f"{at}.title", "Title", "line", score.title, most=400),
            "key": self._field(f"{at}.key", "Key", "line", score.key, most=50, help="Name in files."),
            "terms": self._field(f"{at}.terms[]", "Made of", "checks", options=tuple(self._terms(score))),
            "combine": self._select(f"{at}.combine", "Several are made one by", COMBINED, score.combine),
        }
        return self._row("scores", n, score.id, f"Score {n + 1}", parts)

    def _terms(self, score: ScoreDraft) -> Iterable[Option]:
        """Numbers, shares of choices, and whatever else was chosen before."""
        left = dict.fromkeys(score.terms)
        for question in self.draft.questions:
            called = question.wording or question.key
            numeric = [(json.dumps([question.id]), f"{called} (the number)")] if is_numeric(question) else []
            shares = [
                (json.dumps([question.id, value], ensure_ascii=False), f"{called} Share of “{label}”")
                for value, label in values_of(question)
            ]
            for term, words in [*numeric, *shares]:
                if term in left or question.kind != "scale" or term == json.dumps([question.id]):
                    yield Option(term, words, term in left)
                    left.pop(term, None)
        yield from (Option(term, f"{term}, which is gone", True) for term in left)

    def _answers(self, at: str, given: dict[str, list[str]]) -> dict[str, Field]:
        found = {}
        for question in self.draft.questions:
            name, said = f"{at}.answers.{question.id}", given.get(question.id, [])
            called = question.wording or question.key or "Question"
            if question.kind == "text":
                found[name] = self._field(f"{name}[]", called, "line", "".join(said[:1]), optional=True)
                continue
            options = _offered(values_of(question), said)
            if question.kind != "several":
                options = (Option("", "not asked, or not answered", not any(said)), *options)
            control = "checks" if question.kind == "several" else "select"
            found[name] = self._field(f"{name}[]", called, control, options=options)
        if found and self._at == f"{at}.answers":
            first = next(iter(found))
            found[first] = replace(found[first], error=self._error(f"{at}.answers"))
        return found

    def _language(self, n: int, language: LanguageDraft) -> Row:
        at = f"languages.{n}"
        parts = {
            "code": self._field(
                f"{at}.code",
                "Code of the language",
                "line",
                language.code,
                most=20,
                help="Such as zh or pt-BR.",
            )
        }
        for place, text in texts_of(self.draft):
            parts[place] = self._field(
                f"{at}.texts.{place}", text, "area", language.texts.get(place, ""), optional=True
            )
        return self._row("languages", n, language.id, language.code or f"Language {n + 1}", parts)

    # --- fields ----------------------------------------------------------------------------------

    def _row(self, name: str, n: int, id_: str, title: str, parts: dict[str, Field]) -> Row:
        at, last = f"{name}.{n}", len(getattr(self.draft, name)) - 1
        return Row(at, id_, title, n == 0, n == last, parts, self._error(at))

    def _field(
        self,
        name: str,
        label: str,
        control: str,
        value: str = "",
        *,
        help: str = "",  # as Django's
        options: tuple[Option, ...] = (),
        optional: bool = False,
        shows: bool = False,
        most: int = 4000,
    ) -> Field:
        error = self._error(name.removesuffix("[]"))
        return Field(name, label, control, value, help, error, options, optional, shows, most)

    def _select(
        self, name: str, label: str, choices: dict[str, str], value: str, *, shows: bool = False
    ) -> Field:
        options = tuple(Option(each, words, each == value) for each, words in choices.items())
        return self._field(name, label, "select", options=options, shows=shows)

    def _check(self, name: str, label: str, value: str) -> Field:
        return self._field(name, label, "check", value)

    def _error(self, path: str) -> str:
        if self.error is None or path != self._at:
            return ""
        problem = self.error.problem
        return f"{problem[:1].upper()}{problem[1:]} {self.error.cure}"


def _offered(values: Sequence[tuple[Scalar, str]], chosen: Sequence[str]) -> tuple[Option, ...]:
    """The answers with those that are chosen, and what is chosen though it can no longer be answered."""
    texts = {json.dumps(value, ensure_ascii=False): label for value, label in values}
    gone = [each for each in chosen if each and each not in texts]
    return (
        *(Option(text, label or text, text in chosen) for text, label in texts.items()),
        *(Option(each, f"{each}, which is gone", True) for each in gone),
    )
