"""Fields of the question editor, the rows they stand in, and where the errors of a declaration belong.

What the lists of the question editor are called.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.questions import DeclarationError, Scalar
from turnwise.questions.drafts import Draft

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
    def anchor(self) -> str:
        return id_of(self.at)

    @property
    def fields(self) -> Iterable[Field]:
        return self.parts.values()


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong: the id of its field, if it has one on the page, what that is called, and the words."""

    id: str
    where: str
    words: str


def told(error: DeclarationError) -> str:
    return f"{error.problem[:1].upper()}{error.problem[1:]} {error.cure}"


def id_of(path: str) -> str:
    """The id of the element with this path."""
    return path.removesuffix("[]").replace(".", "-")


def path_of(error: DeclarationError, draft: Draft) -> str:
    """The path of the field that an error of a declaration is about."""
    path = re.sub(r"\[(\d+)\]", r".\1", error.field.partition(",")[0])
    path = re.sub(r"\.scale$", ".high", path).replace(".scale.", ".")
    path = path.replace(".asked_if.question", ".after")
    path = re.sub(r"\.(asked_if|any_of|terms|answers|context)\b.*", _list_of, path)
    if path.startswith("translations."):
        codes = [each.code.strip() for each in draft.languages]
        code = path.removeprefix("translations.")
        path = f"languages.{codes.index(code) if code in codes else 0}.code"
    if path.endswith(".answers") and draft.questions:
        path = f"{path}.{draft.questions[0].id}"
    return path


def _list_of(found: "re.Match[str]") -> str:
    return ".any_of" if found[1] == "asked_if" else f".{found[1]}"


def offered(values: Sequence[tuple[Scalar, str]], chosen: Sequence[str]) -> tuple[Option, ...]:
    """The answers with those that are chosen, and what is chosen though it can no longer be answered."""
    texts = {json.dumps(value, ensure_ascii=False): label for value, label in values}
    gone = [each for each in chosen if each and each not in texts]
    return (
        *(Option(text, label or text, text in chosen) for text, label in texts.items()),
        *(Option(each, _("%(answer)s, which is gone") % {"answer": each}, True) for each in gone),
    )
