"""LaTeX formulas as MathML, which browsers show without scripts or fonts of ours."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from html import escape

from math_core import LatexError, LatexToMathML

LONGEST_FORMULA = 2_000
"""Characters of a formula; a longer one is shown as written."""
DEEPEST_FORMULA = 30
"""Levels of braces, environments and brackets in a formula."""

TAGS = frozenset(
    """
    math mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle mpadded mphantom menclose msub msup msubsup
    munder mover munderover mmultiscripts mprescripts mtable mtr mtd
    """.split()  # noqa: SIM905  (a list of 26 would be read by nobody)
)
ATTRIBUTES = frozenset(
    """
    accent accentunder class columnspan depth displaystyle fence form height largeop linethickness lspace
    mathvariant maxsize minsize movablelimits notation rowspan rspace scriptlevel separator stretchy symmetric
    voffset width
    """.split()  # noqa: SIM905
)

# A formula whose command may not be known to the reader's eye, or that changes others, is shown as written.
_REFUSED = re.compile(
    r"(?<!\\)(?:\\\\)*(?:%|\\(?:[gex]?def|let|futurelet|(?:re)?newcommand|providecommand|csname|catcode"
    r"|DeclareMathOperator|(?:re)?newenvironment|label|ref|eqref|color|textcolor)(?![a-zA-Z]))"
)
_OPENS = re.compile(r"\\(?:begin|left)(?![a-zA-Z])|(?<!\\)\{")
_OPENS_OR_CLOSES = re.compile(
    r"(\\(?:begin|left)(?![a-zA-Z])|(?<!\\)\{)|(\\(?:end|right)(?![a-zA-Z])|(?<!\\)\})"
)
# What of the source has no sign of its own: commands, sizes, columns and names of environments.
_COMMANDS = re.compile(
    r"\\begin\{(?:array|alignedat|alignat\*?)\}\{[^{}]*\}|\\(?:begin|end)\{[a-z]+\*?\}|\\\\\*?\[[^\]]*\]"
    r"|\\[hv]space\*?\{[^{}]*\}|\\[a-zA-Z]+|\\[^a-zA-Z]"
)
_SIGNS = frozenset("+=<>/,;?")
# Two words side by side: prose between two dollars, not a product.
_PROSE = re.compile(r"[A-Za-z]+[ \n]+[A-Za-z]{3,}|[A-Za-z]{3,}[ \n]+[A-Za-z]+")
_TEXT_IN_FORMULA = re.compile(
    r"\\(?:text|textbf|textit|textrm|mbox|operatorname|mathrm)\*?\{[^{}]*\}|\\[a-zA-Z]+"
)
# Numbers of equations would start over in each reply, and the chatbot did not write them.
_NUMBERED = re.compile(r"(\\(?:begin|end)\{(?:equation|align|gather|multline))\}")
_LINE_GAP = re.compile(r"(?<=\\\\)\[ *-?[\d.]+ *(?:pt|em|ex|mm|cm|px) *\]")
_STYLE = re.compile(r' style="([^"]*)"')

_CONVERTER = LatexToMathML(fancy_error=False, max_expansions=1)


def is_prose(latex: str) -> bool:
    """True if the text between two delimiters has words side by side, as prose with two prices has."""
    return _PROSE.search(_TEXT_IN_FORMULA.sub(" \\ ", latex)) is not None


@lru_cache(maxsize=1000)
def mathml_of(latex: str, *, is_display: bool) -> str | None:
    """Convert a formula to MathML that carries its LaTeX as `alttext`.

    Returns:
        None if the formula must stand as written: unknown commands, definitions of macros, comments, too
        long or too deep, or a result that lacks a sign of the source.
    """
    if not latex.strip() or len(latex) > LONGEST_FORMULA or _REFUSED.search(latex) or _is_too_deep(latex):
        return None
    try:
        made = _CONVERTER.convert_with_local_state(_plain(latex), displaystyle=is_display)
    except LatexError:
        return None
    if _signs(_COMMANDS.sub(" ", latex)) - _signs(
        re.sub("<[^>]*>", "", made).replace("&gt;", ">").replace("&lt;", "<")
    ):
        return None
    return _STYLE.sub(_class_of, made).replace("<math", f'<math alttext="{escape(latex.strip())}"', 1)


def _plain(latex: str) -> str:
    return _LINE_GAP.sub("", _NUMBERED.sub(r"\1*}", latex))


def _is_too_deep(latex: str) -> bool:
    if len(_OPENS.findall(latex)) <= DEEPEST_FORMULA:
        return False
    depth = deepest = 0
    for opens, _ in _OPENS_OR_CLOSES.findall(latex):
        depth += 1 if opens else -1
        deepest = max(deepest, depth)
    return deepest > DEEPEST_FORMULA


def _signs(text: str) -> Counter[str]:
    """Letters, digits and operators, whatever their font."""
    return Counter(each for each in unicodedata.normalize("NFKC", text) if each.isalnum() or each in _SIGNS)


def _class_of(style: re.Match[str]) -> str:
    # The Content-Security-Policy allows no style attribute; css/prose.css has these classes.
    side = next((side for side in ("right", "left") if f"text-align: {side}" in style[1]), None)
    return f' class="math-{side}"' if side else ""
