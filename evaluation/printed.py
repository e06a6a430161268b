"""Numbers as everything prints them: a minus sign, never a p of 0, and no end of a line before a unit."""

MINUS = "\u2212"
NO_BREAK = "\u00a0"
"""Between a number and its unit; in templates `&nbsp;`."""


def figure(value: float, digits: int = 1) -> str:
    """A number with so many digits; zero has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 1) -> str:
    """The same with a plus before what is above zero."""
    shown = figure(value, digits)
    return f"+{shown}" if not shown.startswith(MINUS) and float(shown) > 0 else shown


def p_value(p: float | None) -> str:
    """A p-value with three digits, as papers have it; the smallest is a bound."""
    if p is None:
        return "unknown"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_equals(p: float | None) -> str:
    """The same in a sentence: p = 0.042, p < 0.001."""
    shown = p_value(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def percent(share: float) -> str:
    """A level or a share as it stands in sentences: 95 %."""
    return with_unit(f"{100 * share:g}", "%")


def with_unit(number: str, unit: str) -> str:
    """Both on one line, however narrow the page: 95 %, 12 ms."""
    return f"{number}{NO_BREAK}{unit}"
