"""What stands before somebody's work besides consent and practice, and after it; apps register gates."""

from turnwise.crowd.models import Participation, Worker
from turnwise.studies.models import Study


class Gate:
    """Something that people pass before they work, or after it. By itself it lets everybody through."""

    def refuse(self, worker: Worker, study: Study) -> None:
        """Turn away who cannot take part, before they agree in vain.

        Raises:
            EntryRefusedError: why.
        """

    def first(self, participation: Participation) -> str:
        """The name of the address where they have something to do before they begin; empty: nothing."""
        return ""

    def last(self, participation: Participation) -> str:
        """The name of the address where they have something to do when their work is over; empty: nothing."""
        return ""

    def why_ended(self, participation: Participation) -> str:
        """Why their work ended here, in a sentence for them; empty if it did not."""
        return ""


_GATES: list[Gate] = []


def register(gate: Gate) -> None:
    """Have everybody pass this gate."""
    _GATES.append(gate)


def refuse(worker: Worker, study: Study) -> None:
    """Turn away whom any gate does not let through.

    Raises:
        EntryRefusedError: why.
    """
    for gate in _GATES:
        gate.refuse(worker, study)


def first(participation: Participation) -> str:
    """Where they have something to do before they begin; empty: nowhere."""
    return next(filter(None, (gate.first(participation) for gate in _GATES)), "")


def last(participation: Participation) -> str:
    """Where they have something to do before their last page; empty: nowhere."""
    return next(filter(None, (gate.last(participation) for gate in _GATES)), "")


def why_ended(participation: Participation) -> str:
    """Why a gate ended their work, in a sentence for them; empty if none did."""
    return next(filter(None, (gate.why_ended(participation) for gate in _GATES)), "")
