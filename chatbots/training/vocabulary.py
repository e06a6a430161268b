"""Vocabularies: words to numbers and back.

As in the paper, a vocabulary is the most frequent words of a corpus; all others are one unknown word. Case is
folded; a word keeps its apostrophe, as in "don't"; punctuation marks are words.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from chatbots.errors import ChatbotError

PADDING, UNKNOWN, START, END = range(4)
SPECIAL = ("<padding>", "<unknown>", "<start>", "<end>")
NEVER_WRITTEN = (PADDING, UNKNOWN, START)
"""Words that no reply contains."""
LEAST_OCCURRENCES = 5

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*|\d+|[^\w\s]|_")
_CLOSING = re.compile(r" (?=[.,!?;:%)\]…])")
_OPENING = re.compile(r"(?<=[(\[$#]) ")
_BEGINNING = re.compile(r"(?:^|(?<=[.!?] ))[^\W\d_]")
_FIRST_PERSON = re.compile(r"\bi\b")


def words_of(text: str) -> list[str]:
    """Split a text into lower-case words; invisible characters are dropped."""
    return [word for word in _WORD.findall(text.lower().replace("\u2019", "'")) if word.isprintable()]


def text_of(words: Iterable[str]) -> str:
    """Join words to a text: English spacing, capitals for "I" and the beginnings of sentences."""
    text = _OPENING.sub("", _CLOSING.sub("", " ".join(words)))
    text = _FIRST_PERSON.sub("I", text)
    return _BEGINNING.sub(lambda match: match[0].upper(), text)


class VocabularyError(ChatbotError, ValueError):
    """A file that holds no vocabulary; the message says what is wrong with it."""


class Vocabulary:
    """Known words, the most frequent first.

    Args:
        words: without the four special ones, which come first.

    Raises:
        VocabularyError: no word, or one twice.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (*SPECIAL, *words)
        self._number = {word: number for number, word in enumerate(self.words)}
        if len(self._number) != len(self.words) or not words:
            raise VocabularyError(f"A vocabulary needs words, each once; {len(words)} were given.")

    @classmethod
    def of(
        cls, texts: Iterable[str], *, most: int = 20_000, least_occurrences: int = LEAST_OCCURRENCES
    ) -> Vocabulary:
        """Create the vocabulary of the most frequent words of some texts.

        Args:
            texts: any number.
            most: largest number of words, the four special ones included.
            least_occurrences: least number of occurrences of a word in the vocabulary.

        Raises:
            VocabularyError: no word is frequent enough.
        """
        counts = Counter(word for text in texts for word in words_of(text))
        frequent = [(-count, word) for word, count in counts.items() if count >= least_occurrences]
        if not frequent:
            raise VocabularyError(
                f"No word occurs {least_occurrences} times or more. Give more conversations, or a smaller "
                "--least-occurrences."
            )
        return cls([word for _, word in sorted(frequent)[: most - len(SPECIAL)]])

    @classmethod
    def from_json(cls, content: bytes) -> Vocabulary:
        """Create from the result of `to_json`.

        Raises:
            VocabularyError: the content is something else.
        """
        try:
            words = json.loads(content)
        except ValueError as error:
            raise VocabularyError(f"The vocabulary is not JSON: {error}.") from None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise VocabularyError("The vocabulary is not a JSON list of words.")
        return cls(words)

    def to_json(self) -> bytes:
        """The words as a JSON list, without the special ones."""
        return json.dumps(self.words[len(SPECIAL) :], ensure_ascii=False, indent=0).encode()

    def __len__(self) -> int:
        """Number of words, the special ones included."""
        return len(self.words)

    def encode(self, text: str, *, length: int) -> list[int]:
        """Numbers of the words of an utterance, and its end.

        Args:
            text: the utterance; may be empty.
            length: most words, the end included; a cut utterance has no end.
        """
        return [*(self._number.get(word, UNKNOWN) for word in words_of(text)), END][:length]

    def decode(self, numbers: Iterable[int]) -> str:
        """Text of the words; special ones are left out."""
        return text_of(self.words[number] for number in numbers if number >= len(SPECIAL))
