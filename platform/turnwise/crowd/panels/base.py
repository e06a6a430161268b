"""What the platform asks of every panel: who comes by a link, and how they get back at the end."""

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
    """How a panel named somebody in the link by which they came.

    Attributes:
        panel: as `Worker.panel` has it.
        worker: the id.
        submission: what the panel pays, if it names that.
        way_back: what else it is to hear again at the end.
        entered_by: key of the `StudyPanel`.
    """

    panel: str
    worker: str
    submission: str = ""
    way_back: Mapping[str, str] = field(default_factory=dict)
    entered_by: int | None = None


@dataclass(frozen=True, slots=True)
class ReturnPath:
    """How somebody goes back to where they came from.

    Attributes:
        panel: its name, for people.
        address: where the button leads; empty: there is none.
        fields: what is sent there; None: the button is a link.
        code: what tells the panel how it ended: to copy where there is no button, or where the button fails.
        do: what to do there where there is neither.
    """

    panel: str = ""
    address: str = ""
    fields: Mapping[str, str] | None = None
    code: str = ""
    do: str = ""


class Panel(ABC):
    """One panel.

    Attributes:
        key: as studies store it, and in the form's field names.
        title: its name, for people.
        about: what to know before taking it, in a sentence or two.
        parameters: names in its links that no other panel uses, the worker's id first.
        asks_for: settings that a study has with it: fields of `StudyPanel`.
        outcomes: those for which a study may have codes of its own.
        needed: those for which it must.
        order: among the panels of the page, from 1.
    """

    key: ClassVar[str]
    title: ClassVar[str | Promise]
    about: ClassVar[str | Promise]
    order: ClassVar[int]
    parameters: ClassVar[Sequence[str]] = ()
    asks_for: ClassVar[Sequence[str]] = ()
    outcomes: ClassVar[Sequence[Outcome]] = ()
    needed: ClassVar[Sequence[Outcome]] = ()

    @abstractmethod
    def link(self, entry: str, taken: StudyPanel) -> str:
        """What a researcher gives to the panel; empty if there is no link for all.

        Args:
            entry: the study's own link.
            taken: what the study agreed with the panel.
        """

    def parameter(self, taken: StudyPanel) -> str:
        """Name of the worker's id in links."""
        return self.parameters[0] if self.parameters else ""

    def for_workers(self, taken: StudyPanel) -> str:
        """From where people come, as they know it."""
        return str(self.title)

    def refusal_of_arrivals(self) -> refusals.EntryRefusedError:
        """Why somebody who comes from here to a study that takes nobody from here is turned away."""
        return refusals.other_panel(str(self.title))

    @abstractmethod
    def arrival(self, query: QueryDict, taken: StudyPanel) -> Arrival:
        """Who comes by a link with the panel's parameter.

        Raises:
            EntryRefusedError: the link is not as the panel makes them.
        """

    def is_preview(self, query: QueryDict) -> bool:
        """Whether the panel only shows the page to somebody who has not taken the work yet."""
        return False

    @abstractmethod
    def return_path(self, arrival: Arrival, taken: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
        """How somebody goes back, with what tells the panel how it ended.

        Args:
            arrival: how they came.
            taken: what the study agreed with the panel.
            outcome: how it ended.
            own_code: the code of this participation alone; empty for somebody who never took part.
        """

    def problems(self, taken: StudyPanel) -> dict[str, str]:
        """What is wrong with the settings, by field, each with its cure."""
        found = {}
        for outcome, code in taken.codes.items():
            if outcome not in self.outcomes:
                found[f"code_{outcome}"] = _("%(panel)s has no code for this.") % {"panel": self.title}
            elif code and not CODE.fullmatch(code):
                found[f"code_{outcome}"] = _(
                    "“%(code)s” is not a code. Use up to 40 letters, digits, hyphens and underscores."
                ) % {"code": shortened(code)}
        for outcome in self.needed:
            if not taken.codes.get(outcome):
                found.setdefault(
                    f"code_{outcome}",
                    _("%(panel)s needs a code for complete work.") % {"panel": self.title},
                )
        return found


def shortened(value: str) -> str:
    """Something from outside, fit to be shown in a sentence."""
    plain = "".join(each for each in value if unicodedata.category(each)[0] != "C")
    return plain if len(plain) <= LONGEST_SHOWN else plain[:LONGEST_SHOWN] + "…"


def single_value(query: QueryDict, name: str) -> str:
    """The one value of a parameter; empty without one.

    Raises:
        EntryRefusedError: it is there twice.
    """
    values = query.getlist(name)
    if len(values) > 1:
        raise refusals.malformed_link(
            _("“%(name)s” appears in it %(n)d times.") % {"name": name, "n": len(values)}
        )
    return values[0] if values else ""


def id_in(query: QueryDict, name: str, *, needed: bool = True) -> str:
    """The id that a parameter has.

    Raises:
        EntryRefusedError: what it has is no id, or it has none though one is needed.
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
    """The address with one more part of its query."""
    return f"{address}{'&' if '?' in address else '?'}{query}"


def fill_placeholders(template: str, values: Mapping[str, str]) -> str:
    """An address with its placeholders filled in, each as one value of a query."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", quote(value, safe=""))
    return template
