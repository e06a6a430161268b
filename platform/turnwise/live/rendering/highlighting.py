"""Highlighting of code by Pygments: classes instead of styles, and never another text."""

from functools import lru_cache
from html import unescape

import nh3
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

LONGEST_CODE = 8_000
"""Characters of a block of code that are highlighted; longer blocks are shown in one colour."""
# Common languages. Code in any other is shown in one colour, and `LONGEST_CODE` limits what a lexer can take.
LANGUAGES = frozenset(
    """
    bash c cpp c++ csharp c# css diff docker dockerfile go golang graphql haskell html ini java javascript js
    json jsx kotlin latex lua makefile matlab php powershell py python python3 r ruby rust scala sh shell sql
    swift tex toml ts typescript xml yaml yml zsh
    """.split()  # noqa: SIM905
)
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True, classprefix="hl-")


def highlighted(code: str, language: str) -> str | None:
    """Mark up code as HTML with `hl-…` classes; None if it is too long or its language is not known."""
    if len(code) > LONGEST_CODE or (lexer := _lexer(language.lower())) is None:
        return None
    html = highlight(code, lexer, _FORMATTER)
    return html if unescape(nh3.clean(html, tags=set())) == code else None


@lru_cache(maxsize=len(LANGUAGES))
def _lexer(language: str) -> Lexer | None:
    if language not in LANGUAGES:
        return None
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
