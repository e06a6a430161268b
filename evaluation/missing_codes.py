"""Values of a file that look like codes for "no answer": whoever knows the data must say what they are."""

import re
from collections.abc import Iterable

_WORDS = re.compile(
    r"""(n\s*/\s*a|n\.a\.?|na|nan|none|null|nil|missing|unknown|undefined|unlabell?ed|skip(ped)?|refused
    |no\ (answer|response|rating|label)|not\ (applicable|available|answered|rated|sure)
    |(i\ )?do(\ not|n['\u2019]?t)\ know|dk|[-\u2013\u2014]+|\.+|\?+|\#n/a)(?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_BELOW = {-8, -9, -88, -97, -98, -99, -888, -999, -9999}
_ABOVE = {88, 98, 99, 888, 998, 999, 9999}


def suspicious(values: Iterable[str]) -> list[str]:
    """Those of the distinct values that look like codes for a missing rating, in order.

    Words such as "N/A" or "don't know" at the beginning of a value; and numbers such as -99 or 999 that lie
    apart from all others: below 0 where no other is, or more than twice as large as the others.
    """
    distinct = sorted(set(values))
    numbers = {value: number for value in distinct if (number := _number(value)) is not None}
    usual = [number for number in numbers.values() if number not in _BELOW | _ABOVE]
    found = []
    for value in distinct:
        number = numbers.get(value)
        if number is None:
            looks = _WORDS.match(value) is not None
        else:
            looks = bool(usual) and (
                (number in _BELOW and min(usual) >= 0) or (number in _ABOVE and number > 2 * max(usual))
            )
        if looks:
            found.append(value)
    return found


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if number == number else None
