"""What a guard takes a turn for. Light: the list of bots is made without loading a classifier."""

from enum import StrEnum

SHIPPED_NAME = "shipped"
"""The classifier that comes along."""


class Intent(StrEnum):
    """What the guard takes a turn for."""

    ASKS = "asks"
    MAY_ASK = "may ask"
    ELSE = "something else"
