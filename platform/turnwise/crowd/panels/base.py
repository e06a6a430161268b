"""Base class of panels: read a worker's arrival from a link, and lead back to the panel at the end."""

import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar
from urllib.parse import quote

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from turnwise.crowd import refusals
from turnwise.crowd.models import LONGEST_ID, Outcome, StudyPanel

ID = re.compile(rf"[A-Za-z0-9_.@-]{{1,{LONGEST_ID}}}")
CODE = re.compile(r"[A-Za-z0-9_-]{1,40}")
LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Arrival:
    """Arrival of a worker: the data that the panel's link names.

    Attributes:
        panel: key of the panel, as in `Worker.panel`.
        worker: the panel's ID of the worker.
        submission: the panel's ID of what it pays; empty if it names none.
        panel_values: further values of the panel's link that its pages need at the end.
        entered_by: key of the `StudyPanel`.
    """

    panel: str
    worker: str
    submission: str = ""
    panel_values: Mapping[str, str] = field(default_factory=dict)
    entered_by: int | None = None


@dataclass(frozen=True, slots=True)
class ReturnPath:
    """Return path of a worker to the panel.

    Attributes:
        panel: name of the panel.
        address: address of the button; empty if there is no button.
        fields: form fields to send; None if the button is a link.
        code: completion code for the panel, to copy if there is no button or the button fails.
        do: instruction for the worker if there is no button.
    """

    panel: str = ""
    address: str = ""
    fields: Mapping[str, str] | None = None
    code: str = ""
    do: str = ""


class Panel(ABC):
    """Recruiting service or type of link.

    Attributes:
        key: stored key, also used in the form's field names.
        title: name shown to people.
        brings: whom it brings, in a few words, for the page of a new study.
        about: description for researchers, in one or two sentences.
        parameters: names in its links that no other panel uses, the worker's ID first.
        asks_for: settings of a study with this panel: fields of `StudyPanel`.
        outcomes: outcomes for which a study may set a code.
        needed: outcomes for which a study must set a code.
        order: position on the page, from 1.
        is_paid: whether its people usually take part for pay.
    """

    key: ClassVar[str]
    title: ClassVar[str | Promise]
    brings: ClassVar[str | Promise]
    about: ClassVar[str | Promise]
    order: ClassVar[int]
    parameters: ClassVar[Sequence[str]] = ()
    asks_for: ClassVar[Sequence[str]] = ()
    outcomes: ClassVar[Sequence[Outcome]] = ()
    needed: ClassVar[Sequence[Outcome]] = ()
    is_paid: ClassVar[bool] = True

    @abstractmethod
    def link(self, entry: str, setup: StudyPanel) -> str:
        """Link that the researcher gives to the panel; empty if there is no common link.

        Args:
            entry: the study's plain link.
            setup: the study's settings with the panel.
        """

    def parameter(self, setup: StudyPanel) -> str:
        """Name of the link's parameter with the worker's ID."""
        return self.parameters[0] if self.parameters else ""

    def for_workers(self, setup: StudyPanel) -> str:
        """Name of the panel as workers know it."""
        return str(self.title)

    def refusal_of_arrivals(self) -> refusals.EntryRefusedError:
        """Refusal for workers of this panel who come to a study that does not use it."""
        return refusals.other_panel(str(self.title))

    @abstractmethod
    def arrival(self, query: QueryDict, setup: StudyPanel) -> Arrival:
        """Read the arrival from a link with the panel's parameter.

        Raises:
            EntryRefusedError: the link is malformed.
        """

    def is_preview(self, query: QueryDict) -> bool:
        """True if the panel shows the page as a preview, before the worker has accepted the work."""
        return False

    @abstractmethod
    def return_path(self, arrival: Arrival, setup: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
        """Return path to the panel, with the data that tells it the outcome.

        Args:
            arrival: the worker's arrival.
            setup: the study's settings with the panel.
            outcome: outcome of the participation.
            own_code: the participation's completion code; empty for workers who never took part.
        """

    def problems(self, setup: StudyPanel) -> dict[str, str]:
        """Problems of the settings by field, each with what to do."""
        by_field = {}
        for outcome, code in setup.codes.items():
            if outcome not in self.outcomes:
                by_field[f"code_{outcome}"] = _("%(panel)s has no code for this.") % {"panel": self.title}
            elif code and not CODE.fullmatch(code):
                by_field[f"code_{outcome}"] = _(
                    "“%(code)s” is not a code. Use up to 40 letters, digits, hyphens and underscores."
                ) % {"code": shortened(code)}
        for outcome in self.needed:
            if not setup.codes.get(outcome):
                by_field.setdefault(
                    f"code_{outcome}",
                    _("%(panel)s needs a code for complete work.") % {"panel": self.title},
                )
        return by_field


def shortened(value: str) -> str:
    """Shorten outside text and remove control characters, to show it in a sentence."""
    plain = "".join(each for each in value if unicodedata.category(each)[0] != "C")
    return plain if len(plain) <= LONGEST_SHOWN else plain[:LONGEST_SHOWN] + "…"


def single_value(query: QueryDict, name: str) -> str:
    """The only value of a parameter; empty if it is missing.

    Raises:
        EntryRefusedError: the parameter appears more than once.
    """
    values = query.getlist(name)
    if len(values) > 1:
        raise refusals.malformed_link(
            _("“%(name)s” appears in it %(n)d times.") % {"name": name, "n": len(values)}
        )
    return values[0] if values else ""


def id_in(query: QueryDict, name: str, *, needed: bool = True) -> str:
    """Read an ID from a parameter.

    Raises:
        EntryRefusedError: the value is not an ID, or is missing though needed.
    """
    value = single_value(query, name)
    if not value and not needed:
        return ""
    if not value:
        raise refusals.malformed_link(_("Its “%(name)s” is empty.") % {"name": name})
    if not ID.fullmatch(value):
        raise refusals.malformed_link(
            _("Its “%(name)s” is “%(value)s”, which is not an id.")
            % {"name": name, "value": shortened(value)}
        )
    return value


def with_query(address: str, query: str) -> str:
    """Append a part to the query of an address."""
    return f"{address}{'&' if '?' in address else '?'}{query}"


def fill_placeholders(template: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders of an address, quoting each value for a query."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return template
