"""Detection and redaction of likely personal data in free text; a person decides on each finding.

It uses rules, not a model, for the reasons in docs/decisions/personal-data-by-rules.md. The rules prefer
false alarms to misses, but they miss names without an introduction such as "my name is".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """Kind of personal data; the value replaces it in redacted texts."""

    EMAIL = "[e-mail]"
    LINK = "[link]"
    ACCOUNT = "[account]"
    PHONE = "[phone]"
    ADDRESS = "[address]"
    NAME = "[name]"
    OTHER = "[redacted]"


@dataclass(frozen=True, slots=True)
class PersonalDatum:
    """Likely personal data: `text` is `source[start:end]` of the searched source."""

    kind: Kind
    text: str
    start: int
    end: int


def find_personal_data(text: str) -> Iterator[PersonalDatum]:
    """Find likely personal data in a text, in order; of overlapping findings, the more certain kind.

    Args:
        text: any text. Names and addresses are found in English, German, French, Spanish, Arabic and Chinese.
    """
    if not _MAY_HAVE.search(text):
        return
    accepted: list[PersonalDatum] = []
    for kind, pattern in _RULES:
        for match in pattern.finditer(text):
            start, end = match.span(1) if pattern.groups else match.span()
            each = PersonalDatum(kind, text[start:end], start, end)
            if _is_one(each) and not any(start < other.end and other.start < end for other in accepted):
                accepted.append(each)
    yield from sorted(accepted, key=lambda each: each.start)


def _is_one(datum: PersonalDatum) -> bool:
    digits = re.sub(r"\D", "", datum.text)
    if datum.kind is Kind.ACCOUNT:
        return _is_iban(datum.text) if datum.text[0].isalpha() else _is_card(digits)
    if datum.kind is Kind.PHONE:
        if _NO_PHONE.match(datum.text):
            return False
        # Years, sums and scores are shorter. With 7 or 8 digits it must also begin like a phone number.
        return 7 <= len(digits) <= 15 and (len(digits) >= 9 or datum.text[0] in "+0(")
    if datum.kind is Kind.NAME:
        return not _NO_NAME.fullmatch(datum.text.split()[0])
    return True


def _is_iban(text: str) -> bool:
    """Check an IBAN (ISO 13616): with the first four characters at the end, it is 1 modulo 97."""
    packed = re.sub(r"\s", "", text).upper()
    number = "".join(str(int(c, 36)) for c in packed[4:] + packed[:4])
    return 15 <= len(packed) <= 34 and int(number) % 97 == 1


def _is_card(digits: str) -> bool:
    """Check a card number by Luhn's formula (ISO/IEC 7812-1)."""
    if not 13 <= len(digits) <= 19:
        return False
    doubled = [int(d) * (1 + position % 2) for position, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


# No rule can match without one of these, so most texts need no further search.
_MAY_HAVE = re.compile(
    r"[@\d]|https?:|www\.|name|call|\bI ?['\u2019]?a?m\b|this is|hei(?:ß|ss)e|m['\u2019]appelle|llamo|nombre"
    r"|اسمي|我",
    re.IGNORECASE,
)
_WORD = r"[^\W\d_][\w'\u2019-]*"
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w'\u2019-]*"
_CAPITALS = rf"({_CAPITAL}(?: {_CAPITAL}){{0,2}})"
# After an explicit introduction a name may be lower case; then it is the next word only.
_INTRODUCED = (
    r"\b(?:my (?:full |first |last )?name(?:'s|\u2019s| is)|(?:i am|i'm|i\u2019m) (?:called|named)"
    r"|(?:you can |just )?call me|ich hei(?:ß|ss)e|mein name ist|je m['\u2019]appelle|me llamo|mi nombre es) "
)
_STREET = (
    r"(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Square|Sq|Place|Pl|Terrace"
    r"|Way)"
)
_STRASSE = r"(?:straße|strasse|str\.|weg|platz|gasse|allee)"
_NO_NAME = re.compile(
    r"(?:a|an|the|not|no|so|very|just|really|also|too|from|in|at|on|of|and|but|or|it|is|was|yes|ok|okay|hi|hello"
    r"|hey|what|that|this|when|later|back|again|names|i|you|he|she|they|we|american|english|british|chinese"
    r"|german|french|spanish|indian)",
    re.IGNORECASE,
)
# Decimal numbers and dates.
_NO_PHONE = re.compile(
    r"\d+\.\d+$|(?:19|20)\d\d[-./]\d{1,2}[-./]\d{1,2}\b|\d{1,2}[-./]\d{1,2}[-./](?:19|20)\d\d\b"
)


def _rule(kind: Kind, pattern: str, *, any_case: bool = False) -> tuple[Kind, re.Pattern[str]]:
    return kind, re.compile(pattern, re.IGNORECASE if any_case else 0)


_RULES = (
    _rule(Kind.EMAIL, r"[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}"),
    _rule(Kind.LINK, r"(?:https?://|www\.)[^\s<>\"']{3,500}(?<![.,;:!?)\]])", any_case=True),
    _rule(Kind.LINK, r"(?<![\w@.])@[A-Za-z_][\w.]{2,30}(?<!\.)"),  # a handle
    _rule(Kind.ACCOUNT, r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"),
    _rule(Kind.ACCOUNT, r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)"),
    _rule(Kind.PHONE, r"(?<![\w.,])(?:\+|\()?\d(?:[ ()./-]{0,2}\d){6,14}(?![\w,]|\.\d)"),
    _rule(Kind.ADDRESS, rf"\b\d{{1,5}}[A-Za-z]? (?:{_CAPITAL} ){{1,3}}{_STREET}\b\.?"),
    _rule(Kind.ADDRESS, rf"\b[A-ZÄÖÜ][\w-]{{2,30}}{_STRASSE} \d{{1,4}}[a-z]?\b"),
    _rule(
        Kind.ADDRESS,
        r"\b\d{1,4},? (?:rue|avenue|boulevard|place|calle) (?:[\w'\u2019-]+ ?){1,4}",
        any_case=True,
    ),
    _rule(Kind.ADDRESS, r"[\u4e00-\u9fff]{1,10}[路街道巷]\d{1,5}号"),
    _rule(Kind.NAME, rf"(?i:{_INTRODUCED}){_CAPITALS}"),
    _rule(Kind.NAME, rf"(?i:{_INTRODUCED})({_WORD})"),
    _rule(Kind.NAME, rf"\b(?:I am|I'm|I\u2019m|Im|this is) {_CAPITALS}(?=[.,!?;]|$| and | from )"),
    _rule(Kind.NAME, r"(?:我叫|我的名字是|我的名字叫|我姓)([\u4e00-\u9fff]{1,4}|[A-Za-z]+)"),
    _rule(Kind.NAME, r"اسمي (\w+)"),
)


class Redactor:
    """Redactor that replaces given texts by marks where they occur as whole words, in any case."""

    def __init__(self, redacted: dict[str, Kind]) -> None:
        """Take the texts to replace, with their kinds."""
        self._marks = {text.casefold(): kind.value for text, kind in redacted.items()}
        longest_first = sorted(redacted, key=len, reverse=True)
        self._pattern = (
            re.compile("|".join(map(_whole_word_pattern, longest_first)), re.IGNORECASE) if redacted else None
        )

    def __bool__(self) -> bool:
        """True if there is any text to replace."""
        return self._pattern is not None

    def __call__(self, text: str) -> str:
        """Return the text with marks."""
        if self._pattern is None:
            return text
        return self._pattern.sub(
            lambda match: self._marks.get(match.group().casefold(), Kind.OTHER.value), text
        )


def _whole_word_pattern(text: str) -> str:
    """Pattern of a text that matches whole words only; Chinese characters need no gaps around them."""
    before = r"(?<![^\W\u4e00-\u9fff])" if _is_of_word(text[0]) else ""
    after = r"(?![^\W\u4e00-\u9fff])" if _is_of_word(text[-1]) else ""
    return f"{before}{re.escape(text)}{after}"


def _is_of_word(character: str) -> bool:
    return bool(re.match(r"[^\W\u4e00-\u9fff]", character))
