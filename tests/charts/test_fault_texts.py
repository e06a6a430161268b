"""Texts for the faults of bots."""

from chatbots import errors
from chatbots.errors import HostingError
from turnwise.charts.templatetags.figures import fault


def test_every_kind_of_fault_has_its_own_text() -> None:
    ways = [
        kind.__name__.removesuffix("Error")
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, HostingError) and kind is not HostingError
    ]
    told = [fault(way) for way in [*ways, "OperatorAway", "OperatorLate"]]

    assert len(set(told)) == len(told)
    assert not set(told) & set(ways)
    assert fault("ServiceError of another time") == "failed"
