"""What the page of a draft shows: its fields with their errors, and where the focus goes."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from django.utils.translation import gettext as _

from evaluation.questions import DeclarationError, Subject
from turnwise.questions.declaring import is_numeric, values_of
from turnwise.questions.drafts import Draft, LanguageDraft, QuestionDraft, ScoreDraft, texts_of
from turnwise.questions.fields import (
    COMBINED,
    KINDS,
    STORED,
    Fault,
    Field,
    Option,
    Row,
    id_of,
    offered,
    path_of,
    told,
)
from turnwise.questions.forms import IN_WORDS

# Of a new row, the field to begin with.
_FIRST = {
    "questions": "wording",
    "choices": "label",
    "scores": "title",
    "examples": "context",
    "languages": "code",
}


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
        self.draft, self.is_new = draft, is_new
        self._faults: dict[str, list[DeclarationError]] = {}
        for each in error.all if error else ():
            self._faults.setdefault(path_of(each, draft), []).append(each)
        self._verb, self._path = step

    @property
    def said(self) -> str:
        """What the last step did, for those who do not see it."""
        number = self._path.rpartition(".")[2]
        at = {"position": int(number) + 1 if number.isdecimal() else 0}
        said = {
            "add": _("Added."),
            "remove": _("Removed."),
            "up": _("Moved up to position %(position)s.") % at,
            "down": _("Moved down to position %(position)s.") % at,
        }
        return said.get(self._verb, "") if self._path else ""

    @property
    def focus(self) -> str:
        """Id of the element that has the focus now."""
        if self._faults:
            return id_of(next(iter(self._faults)))
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
            "key", _("Key"), "line", draft.key, most=34,
            help=_("Short name in studies and files, such as tone: a to z, 0 to 9, hyphens. It stays."),
        )  # fmt: skip
        about = [Option(s.value, words, s.value in draft.subjects) for s, words in IN_WORDS.items()]
        return [
            self._field("title", _("Title"), "line", draft.title, help=_("For researchers."), most=120),
            *([key] if self.is_new else []),
            self._field(
                "source", _("Source"), "line", draft.source, most=300,
                help=_("The publication, or who wrote them."),
            ),
            self._field("subjects[]", _("What it can be asked about"), "checks", options=tuple(about)),
        ]  # fmt: skip

    @cached_property
    def questions(self) -> list[Row]:
        return [self._question(n, each) for n, each in enumerate(self.draft.questions)]

    @cached_property
    def scores(self) -> list[Row]:
        return [self._score(n, each) for n, each in enumerate(self.draft.scores)]

    @cached_property
    def headline(self) -> Field:
        options = [Option("", _("the first one"), not self.draft.headline)]
        options += [
            Option(
                each.id, each.title or each.key or _("Score %(n)s") % {"n": n}, each.id == self.draft.headline
            )
            for n, each in enumerate(self.draft.scores, 1)
        ]
        return self._field(
            "headline", _("The score that represents the set"), "select", options=tuple(options),
            help=_("Where there is room for only one, as in lists of studies."),
        )  # fmt: skip

    @cached_property
    def examples(self) -> list[Row]:
        rows = []
        for n, each in enumerate(self.draft.examples):
            at = f"examples.{n}"
            parts = {
                "context": self._field(
                    f"{at}.context", _("What was said before"), "area", each.context, optional=True,
                    help=_("A line for each turn: “You: …” or “Chatbot: …”"),
                ),
                "response": self._field(f"{at}.response", _("What is judged"), "area", each.response),
                **self._second(at, each.other),
                **self._answers(at, each.answers),
                "why": self._field(f"{at}.why", _("Why"), "area", each.why, help=_("A sentence or two.")),
            }  # fmt: skip
            rows.append(self._row("examples", n, each.id, _("Example %(n)s") % {"n": n + 1}, parts))
        return rows

    def _second(self, at: str, other: str) -> dict[str, Field]:
        """The second response of a worked example, of a set that is asked about pairs."""
        if Subject.PAIR.value not in self.draft.subjects and not other:
            return {}
        return {"other": self._field(f"{at}.other", _("The second response"), "area", other)}

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
        return {name: self._error(name) for name in names if name in self._faults}

    @cached_property
    def faults(self) -> list[Fault]:
        """All that is wrong, in the order of the page; what belongs to no field of it comes first."""
        called = dict(self._called())
        order = {path: n for n, path in enumerate(called)}
        paths = sorted(self._faults, key=lambda path: order.get(path, -1))
        return [
            Fault(id_of(path) if path in called else "", called.get(path, each.field), told(each))
            for path in paths
            for each in self._faults[path]
        ]

    def _called(self) -> Iterator[tuple[str, str]]:
        """Where an error can stand, and what that is called."""
        for field in self.set_fields:
            yield field.name.removesuffix("[]"), field.label
        sections = {
            "questions": (_("Questions"), self.questions), "scores": (_("Scores"), self.scores),
            "examples": (_("Worked examples"), self.examples), "languages": (_("Languages"), self.languages),
        }  # fmt: skip
        for name, (title, rows) in sections.items():
            yield name, title
            for row in rows:
                yield row.at, row.title
                yield f"{row.at}.choices", row.title
                for within in (row, *row.rows):
                    for field in within.fields:
                        yield field.name.removesuffix("[]"), f"{row.title}, {field.label}"
        yield "headline", self.headline.label

    # --- rows ------------------------------------------------------------------------------------

    def _question(self, n: int, question: QuestionDraft) -> Row:
        at = f"questions.{n}"
        number, wording = _("Question %(n)s") % {"n": n + 1}, question.wording.strip()[:80]
        title = f"{number}: {wording}" if wording else number
        parts = {
            "wording": self._field(f"{at}.wording", _("Wording"), "line", question.wording, most=300),
            "key": self._field(
                f"{at}.key", _("Key"), "line", question.key, most=40,
                help=_("Name of its column in files, such as polite. Small letters, digits and _."),
            ),
            "kind": self._select(f"{at}.kind", _("It is answered with"), KINDS, question.kind, shows=True),
            **self._of_lists(at, question),
            **self._of_scales(at, question),
            "longest": self._field(f"{at}.longest", _("Most characters"), "number", question.longest),
            "help": self._field(
                f"{at}.help", _("Help"), "area", question.help, optional=True,
                help=_("Workers read it in the instructions, and beside the question."),
            ),
            "optional": self._check(f"{at}.optional", _("Workers can skip it"), question.optional),
            **self._condition(at, n, question),
        }  # fmt: skip
        groups = {"one": "list", "several": "list", "scale": "scale", "text": "text"}
        shown = {groups.get(question.kind, "list"), "condition" if question.after else "always"}
        row = self._row("questions", n, question.id, title, parts)
        error = self._error(f"{at}.choices") or row.error
        return replace(row, error=error, rows=tuple(self._choices(at, question)), shown=frozenset(shown))

    def _of_lists(self, at: str, question: QuestionDraft) -> dict[str, Field]:
        return {"stored": self._select(f"{at}.stored", _("Answers are stored as"), STORED, question.stored)}

    def _choices(self, at: str, question: QuestionDraft) -> Iterable[Row]:
        for n, each in enumerate(question.choices):
            path = f"{at}.choices.{n}"
            parts = {
                "label": self._field(
                    f"{path}.label", _("Choice %(n)s") % {"n": n + 1}, "line", each.label, most=120
                ),
                "value": self._field(f"{path}.value", _("Stored as"), "line", each.value, most=120),
                "hint": self._field(f"{path}.hint", _("Hint below"), "line", each.hint, most=120),
            }
            of = {"n": n + 1, "question": int(at.rpartition(".")[2]) + 1}
            title = _("choice %(n)s of question %(question)s") % of
            yield Row(path, each.id, title, n == 0, False, parts)

    def _of_scales(self, at: str, question: QuestionDraft) -> dict[str, Field]:
        return {
            "low": self._field(f"{at}.low", _("Lowest number"), "number", question.low),
            "low_caption": self._field(
                f"{at}.low_caption", _("means"), "line", question.low_caption, most=120
            ),
            "high": self._field(f"{at}.high", _("Highest number"), "number", question.high),
            "high_caption": self._field(
                f"{at}.high_caption", _("means"), "line", question.high_caption, most=120
            ),
            "equal_steps": self._check(
                f"{at}.equal_steps",
                _("Workers are told that all steps are of equal size"),
                question.equal_steps,
            ),
        }

    def _condition(self, at: str, n: int, question: QuestionDraft) -> dict[str, Field]:
        earlier = [each for each in self.draft.questions[:n] if each.kind != "text"]
        chosen = self.draft.question(question.after)
        if chosen and chosen not in earlier:
            earlier.append(chosen)  # was moved below: the set is refused, and the field says why
        options = [Option("", _("always"), not question.after)]
        options += [
            Option(
                each.id,
                _("after some answers to “%(question)s”") % {"question": each.wording or each.key},
                each.id == question.after,
            )
            for each in earlier
        ]
        values = values_of(chosen) if chosen else []
        own = values_of(question) if question.kind in ("one", "scale") else []
        return {
            "after": self._field(
                f"{at}.after", _("It is asked"), "select", options=tuple(options), shows=True
            ),
            "any_of": self._field(
                f"{at}.any_of[]", _("after any of these answers"), "checks",
                options=offered(values, question.any_of),
            ),
            "otherwise": self._field(
                f"{at}.otherwise", _("Where it is not asked, count it as"), "select",
                options=(
                    Option("", _("no answer"), not question.otherwise),
                    *offered(own, [question.otherwise]),
                ),
            ),
        }  # fmt: skip

    def _score(self, n: int, score: ScoreDraft) -> Row:
        at = f"scores.{n}"
        parts = {
            "title": self._field(f"{at}.title", _("Title"), "line", score.title, most=400),
            "key": self._field(f"{at}.key", _("Key"), "line", score.key, most=50, help=_("Name in files.")),
            "terms": self._field(f"{at}.terms[]", _("Made of"), "checks", options=tuple(self._terms(score))),
            "combine": self._select(f"{at}.combine", _("Combine several by"), COMBINED, score.combine),
        }
        return self._row("scores", n, score.id, _("Score %(n)s") % {"n": n + 1}, parts)

    def _terms(self, score: ScoreDraft) -> Iterable[Option]:
        """Numbers, shares of choices, and whatever else was chosen before."""
        left = dict.fromkeys(score.terms)
        for question in self.draft.questions:
            called = question.wording or question.key
            numeric = (
                [(json.dumps([question.id]), _("%(question)s (the number)") % {"question": called})]
                if is_numeric(question)
                else []
            )
            shares = [
                (
                    json.dumps([question.id, value], ensure_ascii=False),
                    _("%(question)s Share of “%(choice)s”") % {"question": called, "choice": label},
                )
                for value, label in values_of(question)
            ]
            for term, words in [*numeric, *shares]:
                if term in left or question.kind != "scale" or term == json.dumps([question.id]):
                    yield Option(term, words, term in left)
                    left.pop(term, None)
        yield from (Option(term, _("%(answer)s, which is gone") % {"answer": term}, True) for term in left)

    def _answers(self, at: str, given: dict[str, list[str]]) -> dict[str, Field]:
        found = {}
        for question in self.draft.questions:
            name, said = f"{at}.answers.{question.id}", given.get(question.id, [])
            called = question.wording or question.key or _("Question")
            if question.kind == "text":
                found[name] = self._field(f"{name}[]", called, "line", "".join(said[:1]), optional=True)
                continue
            options = offered(values_of(question), said)
            if question.kind != "several":
                options = (Option("", _("not asked, or not answered"), not any(said)), *options)
            control = "checks" if question.kind == "several" else "select"
            found[name] = self._field(f"{name}[]", called, control, options=options)
        return found

    def _language(self, n: int, language: LanguageDraft) -> Row:
        at = f"languages.{n}"
        parts = {
            "code": self._field(
                f"{at}.code",
                _("Code of the language"),
                "line",
                language.code,
                most=20,
                help=_("Such as zh or pt-BR."),
            )
        }
        for key, text in texts_of(self.draft):
            parts[key] = self._field(
                f"{at}.texts.{key}", text, "area", language.texts.get(key, ""), optional=True
            )
        return self._row(
            "languages", n, language.id, language.code or _("Language %(n)s") % {"n": n + 1}, parts
        )

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
        self, name: str, label: str, choices: Mapping[str, object], value: str, *, shows: bool = False
    ) -> Field:
        options = tuple(Option(each, str(words), each == value) for each, words in choices.items())
        return self._field(name, label, "select", options=options, shows=shows)

    def _check(self, name: str, label: str, value: str) -> Field:
        return self._field(name, label, "check", value)

    def _error(self, path: str) -> str:
        return " ".join(told(each) for each in self._faults.get(path, ()))
