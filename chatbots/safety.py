"""Classifiers of texts that must not be said or learnt. A lab can replace the default by its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol
from unicodedata import normalize


class SafetyClassifier(Protocol):
    """Classifier of unsafe texts; any class with this method can be used."""

    def unsafe(self, texts: Sequence[str]) -> list[bool]:
        """For each text, True if it must not be used."""
        ...


class AllowEverything:
    """Classifier that finds no text unsafe, as Meena (base)."""

    def unsafe(self, texts: Sequence[str]) -> list[bool]:
        """False for every text."""
        return [False] * len(texts)


# Words with which people describe themselves; the classifier has seen them mostly in insults.
_PEOPLE = (
    r"(?:gays?|lesbians?|bisexuals?|trans(?:gender(?:ed)?)?|queers?|homosexuals?|blacks?|whites?|asians?"
    r"|arabs?|africans?|mexicans?|jew(?:s|ish)?|muslims?|christians?|hindus?|immigrants?|refugees?|wom[ae]n"
    r"|disabled|autistic|blind|deaf)"
)
_NEUTRAL = re.compile(
    rf"\b(?:{_PEOPLE}|breasts?(?= cancer)|chicken breasts?|breast-?feed(?:s|ing)?|sex(?= education)"
    r"|same[- ]sex|cock(?=s? crow))\b"
)

_WEAPON = (
    r"(?:(?<!bath )(?<!photo )(?<!seed )bombs?|explosives?|grenades?|molotovs?|napalm|sarin|ricin|nerve gas"
    r"|anthrax|(?:crystal )?meth|methamphetamine|heroin|crack cocaine|silencers?|ghost guns?)"
)
_VICTIM = r"(?:myself|yourself|someone|somebody|people|him|her|them|(?:my|your|his|her) [a-z]+)"
_DANGER = re.compile(
    "|".join(
        (
            rf"\b(?:make|making|build|building|construct|cook|cooking|assemble|synthesi[sz]e|plant|detonate)"
            rf" (?:[\w'-]+ ){{0,3}}{_WEAPON}\b",
            rf"\b(?:how|ways?|where|teach|show|help)\b(?: [\w'-]+){{0,3}}"
            rf" (?:kill|murder|poison|strangle|stab|kidnap) {_VICTIM}\b",
            r"\b(?:kill|hang|shoot|drown|hurt|harm) yourself\b",
            r"\bend (?:your|my) (?:own )?life\b|\bcommit suicide\b",
            r"\b(?:take|swallow) (?:all|a whole bottle) (?:of )?(?:[a-z]+ ){0,2}pills\b",
            r"\b(?:hate|despise|kill|exterminate|shoot|gas|deport) (?:all |the |these |those )*"
            rf"{_PEOPLE}\b(?! who)",
            rf"\b{_PEOPLE}(?: people| men| women)? (?:should|must|deserve to|ought to) (?:all )?"
            r"(?:die|burn|hang|suffer|be (?:killed|shot|gassed|deported|banned))\b",
            rf"\b{_PEOPLE}(?: people| men| women)? are (?:all )?(?:sub-?human|vermin|animals|filth|scum|trash"
            r"|disgusting|inferior|parasites|a disease)\b",
            r"\bwomen (?:belong|should stay) (?:in the kitchen|at home)\b",
        )
    )
)


class ProfanityCheck:
    """The linear classifier of alt-profanity-check, with rules for meanings that single words do not show.

    The classifier was trained on English posts and comments, and knows words, not meaning. Words with which
    people describe themselves are hidden from it. Patterns find instructions for weapons, drugs and self-harm
    and calls against groups of people, which it misses. Neither understands irony or context. Its weights are
    pickles inside the installed distribution, which the package manager checks like code; no other pickles
    are read.

    Args:
        threshold: probability of being offensive from which a text is unsafe, in (0, 1].

    Raises:
        ModuleNotFoundError: the library is not installed.
    """

    def __init__(self, threshold: float = 0.5) -> None:
        try:
            from profanity_check import predict_prob
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "The safety classifier needs alt-profanity-check: pip install 'turnwise[models]'."
            ) from error
        self.threshold = threshold
        self._probabilities = predict_prob

    def unsafe(self, texts: Sequence[str]) -> list[bool]:
        """True for texts that match a rule or reach the threshold of offensiveness."""
        if not texts:
            return []
        flat = [" ".join(normalize("NFKC", text).lower().split()) for text in texts]
        probabilities = self._probabilities([_NEUTRAL.sub("tall", text) for text in flat])
        return [
            _DANGER.search(text) is not None or bool(probability >= self.threshold)
            for text, probability in zip(flat, probabilities, strict=True)
        ]


CLASSIFIERS = {"profanity-check": ProfanityCheck, "none": AllowEverything}
