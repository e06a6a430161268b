"""A bot that asks several others and says the best reply by a scorer."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from chatbots import scoring
from chatbots.base import Candidate, Context, Response
from chatbots.ensembles import EnsembleBot, EnsembleConfiguration, Said, ranked
from chatbots.hashing import hash_of
from chatbots.lab import check_path, lab_object
from chatbots.registry import register
from evaluation.repetition import repeats


def check_scorer(name: str) -> str:
    """Refuse a name that is neither of a scorer that ships nor of one of the lab.

    Returns:
        The name, unchanged.

    Raises:
        ValueError: it is neither.
    """
    if name in scoring.SCORERS:
        return name
    try:
        return check_path(name)
    except ValueError as error:
        known = ", ".join(scoring.SCORERS)
        raise ValueError(f"is none of {known}, nor a class of the lab: {error}") from None


@register("best-of-several")
class BestOfSeveralBot(EnsembleBot):
    """Asks several bots and says the reply that a scorer finds best.

    Replies that repeat an earlier turn come after all that do not, by the rule of Meena (full). Of equally
    good ones, that of the bot that stands first is said.
    """

    class Configuration(EnsembleConfiguration):
        """Which bots, and what is best."""

        first = frozenset({"scorer"})
        scorer: Annotated[str, AfterValidator(check_scorer)] = Field(
            "likelihood",
            description="likelihood: log-likelihood per token by the Meena model that ships; overlap: F1 of "
            "the words of reply and partner's last turn; or a class of the lab as module:Class with "
            "scores(turns, replies).",
            examples=["our_ranking:Scorer"],
        )

    configuration: Configuration

    @property
    def libraries(self) -> tuple[str, ...]:  # type: ignore[override]
        """The model's, where it is used."""
        return ("torch", "sentencepiece") if self.configuration.scorer == "likelihood" else ()

    def __init__(self, configuration: Configuration) -> None:
        """Load the scorer and the members.

        Raises:
            ModuleNotFoundError: a library of the scorer is not installed.
            ChatbotError: a member cannot be loaded.
        """
        name = configuration.scorer
        self._scorer: scoring.Scorer = (scoring.SCORERS.get(name) or lab_object(name))()
        super().__init__(configuration)

    async def answered(self, context: Context) -> Response:
        """The best reply; the others are its candidates."""
        said, silent = await self.asked(self.labels, context)
        if not said:
            raise self.nobody(silent)
        turns = [turn.text for turn in context.turns]
        scores = [float(score) for score in self._scorer.scores(turns, [each.response.text for each in said])]
        if len(scores) != len(said):
            raise ValueError(
                f"The scorer gave {len(scores)} scores for {len(said)} replies. Fix its scores()."
            )
        repeated = [repeats(each.response.text, turns) for each in said]
        order = sorted(range(len(said)), key=lambda nth: (repeated[nth], -scores[nth]))
        why = ", ".join(_shown(said[nth], scores[nth], repeated[nth]) for nth in order)
        response = self.told(said[order[0]], f"{self._title}: {why}", silent)
        return ranked(response, [Candidate(said[nth].response.text, scores[nth]) for nth in order], said)

    _names: ClassVar[dict[str, str]] = {"likelihood": "log-likelihood per token", "overlap": "overlap"}

    @property
    def _title(self) -> str:
        return self._names.get(self.configuration.scorer, "score")

    def fingerprint(self) -> Mapping[str, object]:
        """As of every ensemble, and the hash of the scorer's file."""
        source = Path(inspect.getfile(type(self._scorer)))
        return {**super().fingerprint(), "scorer_code": hash_of([source])}


def _shown(said: Said, score: float, repeats: bool) -> str:
    return f"{said.label} {score:.2f}{' but repeats' if repeats else ''}"
