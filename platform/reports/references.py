"""Published results of static and interactive SSA evaluations, shown beside a study's own for orientation.

Adiwardana et al. 2020, Towards a Human-like Open-Domain Chatbot, arXiv:2001.09977, in percent.
Their raters, instructions and period were others; a reference is no comparison.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    """A system of the paper, in percent."""

    system: str
    sensibleness: int
    specificity: int
    ssa: int


# Responses to fixed contexts, five raters each.
PAPER_STATIC = (
    Reference("Human", 94, 69, 82),
    Reference("Meena (full)", 86, 70, 78),
    Reference("Meena (base)", 81, 63, 72),
    Reference("DialoGPT", 62, 39, 51),
    Reference("Cleverbot", 59, 28, 44),
    Reference("GenericBot", 70, 0, 35),
)
PAPER_INTERACTIVE = (
    Reference("Human", 97, 75, 86),
    Reference("Meena (full)", 87, 70, 79),
    Reference("Meena (base)", 80, 64, 72),
    Reference("Mitsuku", 72, 40, 56),
    Reference("Cleverbot", 68, 45, 56),
    Reference("DialoGPT", 57, 39, 48),
    Reference("XiaoIce", 45, 17, 31),
)
