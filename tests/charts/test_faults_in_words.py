"""Faults of bots as pages tell them: in words, whatever their classes are called."""

from chatbots import errors
from chatbots.errors import HostingError
from turnwise.charts.templatetags.figures import fault


def test_every_way_in_which_a_bot_gives_no_reply_has_words_of_its_own() -> None:
    ways = [
        kind.__name__.removesuffix("Error")
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, HostingError) and kind is not HostingError
    ]
    told = [fault(way) for way in [*ways, "OperatorAway", "OperatorLate"]]

    assert len(set(told)) == len(told)
    assert not set(told) & set(ways)
    assert fault("ServiceError of another time") == "failed"
