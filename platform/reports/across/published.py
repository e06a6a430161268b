"""What Adiwardana et al. 2020 (arXiv:2001.09977) published of the relations that the comparisons show.

Their figures give no numbers for single points; the text gives those of one model and the R² of each line.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mark:
    """A published system: perplexity, and interactive scores in percent."""

    system: str
    perplexity: float
    scores: Mapping[str, float]


MEENA_BASE = Mark("Meena (base), paper", 10.2, {"sensible": 80, "specific": 64, "ssa": 72})

R_SQUARED: Mapping[str, Mapping[str, str]] = {
    "perplexity": {
        "ssa": "0.93 interactive, 0.94 static",
        "sensible": "0.93 static",
        "specific": "0.94 static",
    },
    "human-likeness": {"ssa": "0.96 static", "sensible": "0.99 static", "specific": "0.89 static"},
}
