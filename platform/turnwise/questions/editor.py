"""Page of a draft: its fields with their errors, and the element that gets the focus.

A field's label, help and limit are those of the schema, unless the page shows it in another form.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from django.utils.translation import gettext as _

from evaluation.questions import DeclarationError, Subject
from evaluation.questions.schema import field_schema
from turnwise.questions.declaring import is_numeric, values_of
from turnwise.questions.drafts import (
    Draft,
    ExampleDraft,
    LanguageDraft,
    QuestionDraft,
    ScoreDraft,
    part_of,
    texts_of,
)
from turnwise.questions.fields import (
    COMBINED,
    KINDS,
    STORED,
    Errors,
    Fault,
    Field,
    Option,
    Row,
    id_of,
    offered,
    sentence,
)
from turnwise.questions.forms import SUBJECT_NAMES
from turnwise.questions.models import LONGEST_NAME

# Of a new row, the field to begin with.
_FIRST = {
    "questions": "wording",
    "choices": "label",
    "scores": "title",
    "examples": "context",
    "languages": "code",
}
_GROUPS = {"scale": "scale", "text": "text"}


class Editor:
    """A draft as its page shows it.

    Args:
        draft: values of the fields.
        is_new: whether the set has no name yet.
        error: errors of the declaration.
        step: the last step and the path that it led to.
    """

    def __init__(
        self,
        draft: Draft,
        *,
        is_new: bool,
        error: DeclarationError | None = None,
        step: tuple[str, str] = ("", ""),
    ) -> None:
        self.draft, self.is_new = draft, is_new
        self._verb, self._path = step
        found: dict[str, list[DeclarationError]] = {}
        self._errors: Errors = found
        self.set_fields = [*self._set_fields()]
        self.questions = [self._question(n, each) for n, each in enumerate(draft.questions)]
        self.scores = [self._score(n, each) for n, each in enumerate(draft.scores)]
        self.headline = self._headline()
        self.examples = [self._example(n, each) for n, each in enumerate(draft.examples)]
        self.languages = [self._language(n, each) for n, each in enumerate(draft.languages)]
        self._labels = dict(self._all_labels())
        for each in error.all if error else ():
            found.setdefault(self._path_of(each), []).append(each)

    @property
    def announcement(self) -> str:
        """Announcement of the last step for screen readers."""
        number = self._path.rpartition(".")[2]
        at = {"position": int(number) + 1 if number.isdecimal() else 0}
        announcement = {
            "add": _("Added."),
            "remove": _("Removed."),
            "up": _("Moved up to position %(position)s.") % at,
            "down": _("Moved down to position %(position)s.") % at,
        }
        return announcement.get(self._verb, "") if self._path else ""

    @property
    def focus(self) -> str:
        """Id of the element that has the focus now."""
        if self._errors:
            return self.faults[0].id
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
        last = len(part_of(self.draft, whole)) - 1
        at_end = int(number) == (0 if self._verb == "up" else last)
        return {"up": "down", "down": "up"}[self._verb] if at_end else self._verb

    @property
    def codes(self) -> list[str]:
        """The languages that a preview can be in."""
        return [each.code.strip() for each in self.draft.languages if each.code.strip()]

    # --- errors ----------------------------------------------------------------------------------

    @property
    def errors(self) -> dict[str, str]:
        """Errors of whole sections, by name."""
        names = ("questions", "scores", "examples")
        return {name: " ".join(map(sentence, self._errors.get(name, ()))) for name in names}

    @property
    def faults(self) -> list[Fault]:
        """All errors in page order; errors without a field come first."""
        order = {path: n for n, path in enumerate(self._labels)}
        return [
            Fault(id_of(path) if path in order else "", self._labels.get(path, each.field), sentence(each))
            for path in sorted(self._errors, key=lambda path: order.get(path, -1))
            for each in self._errors[path]
        ]

    def _all_labels(self) -> Iterator[tuple[str, str]]:
        """Paths that can have an error, with their labels."""
        yield from ((field.path, field.label) for field in self.set_fields)
        sections = {
            "questions": (_("Questions"), self.questions), "scores": (_("Scores"), self.scores),
            "examples": (_("Worked examples"), self.examples), "languages": (_("Languages"), self.languages),
        }  # fmt: skip
        for name, (title, rows) in sections.items():
            yield name, title
            for row in rows:
                yield from row.labels
        yield "headline", self.headline.label

    def _path_of(self, error: DeclarationError) -> str:
        """Path of the innermost field or row that an error of a declaration is about, or empty."""
        path = re.sub(r"\[(\d+)\]", r".\1", error.field.partition(",")[0])
        if path.startswith("translations"):
            codes = [each.code.strip() for each in self.draft.languages]
            code = path.removeprefix("translations").removeprefix(".")
            path = f"languages.{codes.index(code) if code in codes else 0}.code"
        before, of_answers, key = path.partition(".answers.")
        ids = (each.id for each in self.draft.questions if each.key.strip() == key)
        path = before + of_answers + (next(ids, "") if of_answers else "")
        while path and path not in self._labels:
            path = path.rpartition(".")[0]
        return path

    # --- the set ---------------------------------------------------------------------------------

    def _set_fields(self) -> Iterator[Field]:
        yield self._field("title")
        if self.is_new:
            yield replace(self._field("key"), most=LONGEST_NAME)
        yield self._field("source")
        about = (
            Option(each.value, words, each.value in self.draft.subjects)
            for each, words in SUBJECT_NAMES.items()
        )
        yield self._field("subjects[]", "checks", options=tuple(about))

    def _headline(self) -> Field:
        options = [Option("", _("the first one"), not self.draft.headline)]
        for n, each in enumerate(self.draft.scores, 1):
            called = each.title or each.key or _("Score %(n)s") % {"n": n}
            options.append(Option(each.id, called, each.id == self.draft.headline))
        return self._field("headline", "select", options=tuple(options))

    # --- rows ------------------------------------------------------------------------------------

    def _question(self, n: int, question: QuestionDraft) -> Row:
        at = f"questions.{n}"
        number, wording = _("Question %(n)s") % {"n": n + 1}, question.wording.strip()[:80]
        means = _("means")
        row = self._row(
            at, question.id, f"{number}: {wording}" if wording else number,
            self._field(f"{at}.wording"),
            self._field(f"{at}.key"),
            self._select(f"{at}.kind", KINDS, shows=True),
            self._select(f"{at}.stored", STORED, label=_("Answers are stored as")),
            self._field(f"{at}.scale.low", "number"),
            self._field(f"{at}.scale.low_caption", label=means),
            self._field(f"{at}.scale.high", "number"),
            self._field(f"{at}.scale.high_caption", label=means),
            self._field(f"{at}.scale.equal_steps", "check"),
            self._field(f"{at}.longest", "number"),
            self._field(f"{at}.help", "area", optional=True),
            self._field(f"{at}.optional", "check", label=_("Workers can skip it")),
            *self._condition(at, n, question),
        )  # fmt: skip
        visible = {
            _GROUPS.get(question.kind, "list"),
            "condition" if question.asked_if.question else "always",
        }
        choices = tuple(self._choice(at, m, each.id) for m, each in enumerate(question.choices))
        return replace(row, rows=choices, visible_groups=frozenset(visible))

    def _choice(self, at: str, n: int, id_: str) -> Row:
        path = f"{at}.choices.{n}"
        of = {"n": n + 1, "question": int(at.rpartition(".")[2]) + 1}
        title = _("choice %(n)s of question %(question)s") % of
        label = self._field(f"{path}.label", label=_("Choice %(n)s") % of)
        return self._row(path, id_, title, label, self._field(f"{path}.value"), self._field(f"{path}.hint"))

    def _condition(self, at: str, n: int, question: QuestionDraft) -> Iterator[Field]:
        condition = question.asked_if
        earlier = [each for each in self.draft.questions[:n] if each.kind != "text"]
        chosen = self.draft.question(condition.question)
        if chosen and chosen not in earlier:
            earlier.append(chosen)  # was moved below: the set is refused, and the field says why
        options = [Option("", _("always"), not condition.question)]
        for each in earlier:
            words = _("after some answers to “%(question)s”") % {"question": each.wording or each.key}
            options.append(Option(each.id, words, each.id == condition.question))
        values = values_of(question) if question.kind in ("one", "scale") else []
        otherwise = (
            Option("", _("no answer"), not question.otherwise), *offered(values, [question.otherwise])
        )  # fmt: skip
        yield self._field(
            f"{at}.asked_if.question", "select", label=_("It is asked"), options=tuple(options), shows=True
        )
        answers = offered(values_of(chosen) if chosen else [], condition.any_of)
        yield self._field(f"{at}.asked_if.any_of[]", "checks", options=answers)
        yield self._field(f"{at}.otherwise", "select", options=otherwise)

    def _score(self, n: int, score: ScoreDraft) -> Row:
        at = f"scores.{n}"
        return self._row(
            at, score.id, _("Score %(n)s") % {"n": n + 1},
            self._field(f"{at}.title"),
            self._field(f"{at}.key"),
            self._field(f"{at}.terms[]", "checks", options=tuple(self._terms(score))),
            self._select(f"{at}.combine", COMBINED),
        )  # fmt: skip

    def _terms(self, score: ScoreDraft) -> Iterator[Option]:
        """Options: numbers, shares of choices, and terms chosen before that no longer exist."""
        left = dict.fromkeys(score.terms)
        for question in self.draft.questions:
            called, number = question.wording or question.key, json.dumps([question.id])
            terms = (
                {number: _("%(question)s (the number)") % {"question": called}}
                if is_numeric(question)
                else {}
            )
            for value, label in values_of(question):
                words = _("%(question)s Share of “%(choice)s”") % {"question": called, "choice": label}
                terms[json.dumps([question.id, value], ensure_ascii=False)] = words
            for term, words in terms.items():
                if term in left or question.kind != "scale" or term == number:
                    yield Option(term, words, term in left)
                    left.pop(term, None)
        yield from (Option(term, _("%(answer)s, which is gone") % {"answer": term}, True) for term in left)

    def _example(self, n: int, example: ExampleDraft) -> Row:
        at = f"examples.{n}"
        is_pair = Subject.PAIR.value in self.draft.subjects or example.other
        return self._row(
            at, example.id, _("Example %(n)s") % {"n": n + 1},
            self._field(
                f"{at}.context", "area", optional=True,
                help=_("A line for each turn: “You: …” or “Chatbot: …”"),
            ),
            self._field(f"{at}.response", "area"),
            *([self._field(f"{at}.other", "area")] if is_pair else []),
            *(self._answer(f"{at}.answers.{each.id}", each, example) for each in self.draft.questions),
            self._field(f"{at}.why", "area"),
        )  # fmt: skip

    def _answer(self, path: str, question: QuestionDraft, example: ExampleDraft) -> Field:
        given = example.answers.get(question.id, [])
        called = question.wording or question.key or _("Question")
        if question.kind == "text":
            return replace(self._field(f"{path}[]", label=called, optional=True), value="".join(given[:1]))
        options = offered(values_of(question), given)
        if question.kind == "several":
            return self._field(f"{path}[]", "checks", label=called, options=options)
        nothing = Option("", _("not asked, or not answered"), not any(given))
        return self._field(f"{path}[]", "select", label=called, options=(nothing, *options))

    def _language(self, n: int, language: LanguageDraft) -> Row:
        at = f"languages.{n}"
        code = self._field(f"{at}.code", label=_("Code of the language"), help=_("Such as zh or pt-BR."))
        texts = (
            self._field(f"{at}.texts.{key}", "area", label=text, optional=True)
            for key, text in texts_of(self.draft)
        )
        return self._row(
            at,
            language.id,
            language.code or _("Language %(n)s") % {"n": n + 1},
            replace(code, most=20),
            *texts,
        )

    # --- parts -----------------------------------------------------------------------------------

    def _row(self, at: str, id_: str, title: str, *fields: Field) -> Row:
        whole, _, number = at.rpartition(".")
        last = len(part_of(self.draft, whole)) - 1
        return Row(at, id_, title, int(number) == 0, int(number) == last, fields, self._errors)

    def _field(
        self,
        name: str,
        control: str = "line",
        *,
        label: str = "",
        help: str = "",  # as Django's
        options: tuple[Option, ...] = (),
        optional: bool = False,
        shows: bool = False,
    ) -> Field:
        path = name.removesuffix("[]")
        about = field_schema(*(part for part in path.split(".") if not part.isdecimal()))
        label = label or _(about["title"])
        if not help and "description" in about:
            help = _(about["description"])
        value = "" if options or name.endswith("[]") else part_of(self.draft, path)
        most = about.get("maxLength", 4000)
        return Field(name, label, control, value, help, options, optional, shows, most, self._errors)

    def _select(
        self, name: str, choices: Mapping[str, object], *, label: str = "", shows: bool = False
    ) -> Field:
        value = part_of(self.draft, name)
        options = tuple(Option(each, str(words), each == value) for each, words in choices.items())
        return self._field(name, "select", label=label, options=options, shows=shows)
