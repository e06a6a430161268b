"""ELIZA, the rule-based therapist of 1966, with the script that ships with NLTK."""

import ast
import random
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from chatbots.base import Bot, BotConfiguration, Context, Kind, Speaker
from chatbots.registry import register
from chatbots.replies import Response

Rule = tuple[re.Pattern[str], Sequence[str]]
_WILDCARD = re.compile(r"%(\d)")


@register("eliza")
class ElizaBot(Bot):
    """Turns what you say into a question about it, by the ELIZA script of NLTK.

    The rules and the table of reflections ("my" → "your") are NLTK's. The matching is this project's: NLTK's
    draws from the global random generator, and hangs or fails on a turn with a percent sign. Here the seed of
    the context decides, an answer is repeated in a dialogue only when all are used up, and only the last
    sentence of a turn is answered.

    Source: Weizenbaum 1966, doi:10.1145/365153.365168; NLTK, `nltk/chat/eliza.py`.
    """

    listed_as = Kind.CLASSIC

    libraries = ("nltk",)

    def __init__(self, configuration: BotConfiguration) -> None:
        """Read the script.

        Raises:
            ModuleNotFoundError: NLTK is not installed.
            ValueError: the installed NLTK has no such script.
        """
        super().__init__(configuration)
        pairs = _nltk_table("eliza", "pairs")
        reflections = _nltk_table("util", "reflections")
        # Without the look-ahead the rules "Yes" and "quit" would answer "Yesterday" and "quite".
        self._rules = [(re.compile(rf"(?:{rule})(?!\w)", re.I), answers) for rule, answers in pairs]
        self._reflections: dict[str, str] = reflections
        words = sorted(map(re.escape, reflections), key=len, reverse=True)
        self._reflected = re.compile(rf"\b(?:{'|'.join(words)})\b", re.I)

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        """Apply the first rule that fits the last sentence of each context."""
        return [Response(self._answer(context)) for context in contexts]

    def _answer(self, context: Context) -> str:
        earlier = {turn.text for turn in context.turns if turn.speaker is Speaker.BOT}
        answers = self._answers(_last_sentence(context.turns[-1].text))
        fresh = [answer for answer in answers if answer not in earlier]
        # The number of turns is mixed in so that one seed for a whole dialogue does not always pick the same.
        seed = None if context.seed is None else f"{context.seed} {len(context.turns)}"
        return random.Random(seed).choice(fresh or answers)

    def _answers(self, sentence: str) -> list[str]:
        """All answers of the first rule that has one for the sentence."""
        ways = (list(self._filled(rule, sentence)) for rule in self._rules)
        return next(answers for answers in ways if answers)  # the last rule fits everything

    def _filled(self, rule: Rule, sentence: str) -> Iterator[str]:
        pattern, templates = rule
        if match := pattern.match(sentence):
            parts = ["", *map(self._reflect, match.groups(""))]
            for template in templates:
                if all(parts[int(number)] for number in _WILDCARD.findall(template)):
                    yield _tidied(_WILDCARD.sub(lambda wildcard: parts[int(wildcard[1])], template))

    def _reflect(self, words: str) -> str:
        """Turn the words to the listener's view: "my mother" → "your mother"; empty without words."""
        bare = words.strip(" .,!?;:-")
        if not re.search(r"\w", bare):
            return ""
        return self._reflected.sub(lambda word: self._reflections[word[0].lower()], bare)


def _nltk_table(module: str, name: str) -> Any:
    """Read a constant of `nltk.chat` from the source: importing NLTK takes 0.7 s and 100 MB of memory."""
    package = find_spec("nltk")
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            "The ELIZA script comes with NLTK, which is not installed: pip install nltk"
        )
    path = Path(package.origin).parent / "chat" / f"{module}.py"
    for statement in ast.parse(path.read_bytes()).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return ast.literal_eval(value)
    raise ValueError(f"{path} defines no '{name}'. Install the version of NLTK that constraints.txt names.")


def _last_sentence(text: str) -> str:
    """The last sentence with a word, on one line, with straight apostrophes and no closing full stop."""
    line = " ".join(text.replace("\u2019", "'").split())
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", line) if re.search(r"\w", part)]
    return (sentences or [line])[-1].rstrip(".! ")


def _tidied(answer: str) -> str:
    return answer[:1].upper() + answer[1:]
