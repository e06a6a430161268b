"""Models of judging: the queue with its plan, items and slots, draws of items for people, anchors."""

from turnwise.judging.models.agreement import Agreement
from turnwise.judging.models.anchors import Anchor, AnchorPack
from turnwise.judging.models.draws import DrawnItem, ItemDraw
from turnwise.judging.models.queue import (
    Batch,
    Battery,
    Item,
    JudgingPlan,
    Slot,
    Training,
)

__all__ = [
    "Agreement",
    "Anchor",
    "AnchorPack",
    "Batch",
    "Battery",
    "DrawnItem",
    "Item",
    "ItemDraw",
    "JudgingPlan",
    "Slot",
    "Training",
]
