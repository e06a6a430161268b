"""Fields and rows of the question editor with their errors, and the labels of its lists."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.questions import DeclarationError, Scalar

KINDS = {
    "one": gettext_lazy("One of a list"),
    "scale": gettext_lazy("A scale with two ends"),
    "several": gettext_lazy("Any of a list"),
    "text": gettext_lazy("Free text"),
}
STORED = {
    "names": gettext_lazy("words: the caption, or what you write beside it"),
    "numbers": gettext_lazy("numbers in an order, which have a mean"),
    "yes_no": gettext_lazy("yes and no"),
}
COMBINED = {"mean": gettext_lazy("their mean"), "sum": gettext_lazy("their sum")}


Errors = Mapping[str, Sequence[DeclarationError]]
"""Errors by path of a field or row."""


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
        name: its path in the declaration; with `[]` if it is a list.
        control: line, area, number, check, select or checks.
        shows: whether another choice shows other fields, so that the page is asked for them.
        errors: those of the page.
    """

    name: str
    label: str
    control: str
    value: str
    help: str
    options: tuple[Option, ...]
    optional: bool
    shows: bool
    most: int
    errors: Errors

    @property
    def path(self) -> str:
        return self.name.removesuffix("[]")

    @property
    def id(self) -> str:
        return id_of(self.path)

    @property
    def error(self) -> str:
        return " ".join(map(sentence, self.errors.get(self.path, ())))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the form that can be moved and removed.

    Attributes:
        at: its path.
        title: what it is called.
        fields: in their order.
        errors: those of the page.
        rows: what stands within it, such as choices.
        visible_groups: names of the groups of fields that matter now.
    """

    at: str
    id: str
    title: str
    is_first: bool
    is_last: bool
    fields: tuple[Field, ...]
    errors: Errors
    rows: tuple["Row", ...] = ()
    visible_groups: frozenset[str] = frozenset()

    @property
    def anchor(self) -> str:
        return id_of(self.at)

    @property
    def parts(self) -> dict[str, Field]:
        """Fields by the last part of their names."""
        return {field.path.rpartition(".")[2]: field for field in self.fields}

    @property
    def error(self) -> str:
        """Errors of the row as a whole, or of its choices."""
        found = (*self.errors.get(self.at, ()), *self.errors.get(f"{self.at}.choices", ()))
        return " ".join(map(sentence, found))

    @property
    def labels(self) -> Iterable[tuple[str, str]]:
        """Paths that can have an error, with their labels."""
        yield from ((self.at, self.title), (f"{self.at}.choices", self.title))
        for row in (self, *self.rows):
            yield from ((field.path, f"{row.title}, {field.label}") for field in row.fields)


@dataclass(frozen=True, slots=True)
class Fault:
    """An error on the page: the id of its field (or ""), the label, and the message."""

    id: str
    where: str
    words: str


def sentence(error: DeclarationError) -> str:
    return f"{error.problem[:1].upper()}{error.problem[1:]} {error.cure}"


def id_of(path: str) -> str:
    """The id of the element with this path."""
    return path.replace(".", "-")


def offered(values: Sequence[tuple[Scalar, str]], chosen: Sequence[str]) -> tuple[Option, ...]:
    """Options for the answers, including chosen ones that no longer exist."""
    texts = {json.dumps(value, ensure_ascii=False): label for value, label in values}
    gone = [each for each in chosen if each and each not in texts]
    return (
        *(Option(text, label or text, text in chosen) for text, label in texts.items()),
        *(Option(each, _("%(answer)s, which is gone") % {"answer": each}, True) for each in gone),
    )
