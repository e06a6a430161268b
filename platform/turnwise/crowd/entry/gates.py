"""Gates: required steps before or after the work, besides consent and practice. Apps register theirs."""

from turnwise.crowd.models import Participation, Worker
from turnwise.studies.models import Study


class Gate:
    """Required step before or after the work. The base class lets every worker pass."""

    def refuse(self, worker: Worker, study: Study) -> None:
        """Refuse workers who cannot take part, before they consent.

        Raises:
            EntryRefusedError: names the reason.
        """

    def first(self, participation: Participation) -> str:
        """URL name of a step that is due before the work; empty if none is."""
        return ""

    def last(self, participation: Participation) -> str:
        """URL name of a step that is due after the work; empty if none is."""
        return ""

    def why_ended(self, participation: Participation) -> str:
        """Sentence for the worker if this gate ended the participation; otherwise empty."""
        return ""


_GATES: list[Gate] = []


def register(gate: Gate) -> None:
    """Add a gate for all studies."""
    _GATES.append(gate)


def refuse(worker: Worker, study: Study) -> None:
    """Refuse workers whom any gate refuses.

    Raises:
        EntryRefusedError: names the reason.
    """
    for gate in _GATES:
        gate.refuse(worker, study)


def first(participation: Participation) -> str:
    """URL name of the first step that is due before the work; empty if none is."""
    return next(filter(None, (gate.first(participation) for gate in _GATES)), "")


def last(participation: Participation) -> str:
    """URL name of the first step that is due before the last page; empty if none is."""
    return next(filter(None, (gate.last(participation) for gate in _GATES)), "")


def why_ended(participation: Participation) -> str:
    """Sentence for the worker if a gate ended the participation; otherwise empty."""
    return next(filter(None, (gate.why_ended(participation) for gate in _GATES)), "")
