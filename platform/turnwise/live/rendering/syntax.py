"""Rules for markdown-it beyond CommonMark: formulas, pictures, complete tables, levels of headings."""

import re
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import escapedSplit, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from turnwise.live.rendering.as_written import keep_as_written
from turnwise.live.rendering.formulas import LONGEST_FORMULA, is_prose, mathml_of
from turnwise.live.rendering.pictures import is_harmless_picture

MOST_CELLS = 4_000
"""Cells of a table, those included that its rows leave out."""
MOST_FORMULAS = 500
"""Formulas of a text; from then on they are shown as written."""
_LONGEST_BLOCK = 60
_CLOSERS = {"$$": "$$", r"\(": r"\)", r"\[": r"\]", "$": "$"}
_BEGIN = re.compile(r"\\begin\{([a-z]+\*?)\}")
_ENVIRONMENTS = frozenset(
    {"equation", "equation*", "align", "align*", "gather", "gather*", "multline", "multline*"}
)
_BRACKETS = frozenset("()[]")
_PICTURE = re.compile(r"!\[([^\]\n]{0,1000})\]\((data:image/[^)\s]*)\)")
_OTHER_PICTURE = re.compile(r"!\[[^\]\n]{0,1000}\]\([^()\n]{0,2000}(?:\([^()\n]{0,200}\)[^()\n]{0,200})?\)")


def add_syntax(markdown: MarkdownIt) -> None:
    """Teach a parser formulas, pictures, tables, and lists and headings that lose nothing."""
    markdown.inline.ruler.before("escape", "formula", _formula)
    markdown.inline.ruler.before("escape", "bracket", _bracket)
    markdown.inline.ruler.before("image", "picture", _picture)
    markdown.block.ruler.before(
        "fence", "formula_block", _formula_block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    markdown.block.ruler.at("table", _complete_table, {"alt": ["paragraph", "reference"]})
    markdown.core.ruler.push("levels", _set_levels)
    keep_as_written(markdown)


# --- formulas ----------------------------------------------------------------------------------


def _formula(state: StateInline, silent: bool) -> bool:
    opener = _opener_at(state.src, state.pos)
    if opener is None or (found := _formula_at(state.src, state.pos, opener, state.posMax)) is None:
        return False
    latex, end = found
    raw, is_display = state.src[state.pos : end], opener in ("$$", r"\[")
    html = _rendered(latex, state.env, is_display=is_display)
    if html is None and opener == "$" and not re.search(r"[\\^_{]", latex):
        return False
    if not silent:
        _push_formula(state, raw, html, is_display=is_display)
    state.pos = end
    return True


def _opener_at(source: str, at: int) -> str | None:
    if source[at] == "$":
        return "$$" if source.startswith("$$", at) else "$"
    pair = source[at : at + 2]
    return pair if pair in (r"\(", r"\[") else None


def _formula_at(source: str, at: int, opener: str, most: int) -> tuple[str, int] | None:
    """LaTeX of a formula that begins here, and where it ends; None if it is none, but a price, say."""
    start, closer = at + len(opener), _CLOSERS[opener]
    end = source.find(closer, start, min(most, start + LONGEST_FORMULA + len(closer)))
    while end > 0 and closer[0] == "$" and source[end - 1] == "\\":
        end = source.find(closer, end + 1, min(most, start + LONGEST_FORMULA + len(closer)))
    if end <= start or is_prose(source[start:end]):
        return None
    if opener == "$" and not _is_inline_formula(source, start, end, most):
        return None
    return source[start:end], end + len(closer)


def _is_inline_formula(source: str, start: int, end: int, most: int) -> bool:
    """The usual rules for single dollars: no space inside, no digit after, no letter or digit before."""
    before = source[start - 2] if start > 1 else " "
    after = source[end + 1] if end + 1 < most else " "
    has_space = source[start].isspace() or source[end - 1].isspace()
    return not (has_space or after.isdigit() or after == "$" or before.isalnum())


def _rendered(latex: str, env: Any, *, is_display: bool) -> str | None:
    env["formulas"] = env.get("formulas", 0) + 1
    return mathml_of(latex, is_display=is_display) if env["formulas"] <= MOST_FORMULAS else None


def _push_formula(state: StateInline | StateBlock, raw: str, html: str | None, *, is_display: bool) -> None:
    token = state.push("written" if html is None else "formula", "", 0)
    token.content = raw if html is None else html
    token.meta = {"display": is_display}


def _bracket(state: StateInline, silent: bool) -> bool:
    r"""Leave `\(`, `\)`, `\[` and `\]` as written where they delimit no formula."""
    pair = state.src[state.pos : state.pos + 2]
    if len(pair) < 2 or pair[0] != "\\" or pair[1] not in _BRACKETS:
        return False
    if not silent:
        state.pending += pair
    state.pos += 2
    return True


def _formula_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if (delimiters := _block_delimiters(first)) is None:
        return False
    opener, closer = delimiters
    last = _last_line(state, start, end, opener, closer)
    if last is None:
        return False
    raw = state.getLines(start, last + 1, state.blkIndent, False).strip()
    latex = raw if opener.startswith(r"\begin") else raw[len(opener) : -len(closer)]
    if is_prose(latex):
        return False
    if silent:
        return True
    _push_block(state, raw, _rendered(latex, state.env, is_display=True), lines=(start, last + 1))
    return True


def _block_delimiters(line: str) -> tuple[str, str] | None:
    if line.startswith("$$"):
        return "$$", "$$"
    if line.startswith(r"\["):
        return r"\[", r"\]"
    begun = _BEGIN.match(line)
    return (begun[0], rf"\end{{{begun[1]}}}") if begun and begun[1] in _ENVIRONMENTS else None


def _last_line(state: StateBlock, start: int, end: int, opener: str, closer: str) -> int | None:
    """Line that ends with the closer; None if text follows it, or a blank line comes first."""
    begin = state.bMarks[start] + state.tShift[start] + len(opener)
    if state.src.find(closer, begin, begin + LONGEST_FORMULA + len(closer)) < 0:
        return None
    for line in range(start, min(end, start + _LONGEST_BLOCK)):
        if state.isEmpty(line) or (line > start and state.sCount[line] < state.blkIndent):
            return None
        text = state.src[begin if line == start else state.bMarks[line] : state.eMarks[line]].rstrip()
        at = text.find(closer)
        if at >= 0:
            return line if at + len(closer) == len(text) else None
    return None


def _push_block(state: StateBlock, raw: str, html: str | None, *, lines: tuple[int, int]) -> None:
    state.line = lines[1]
    state.push("paragraph_open", "p", 1).map = list(lines)
    inline = state.push("inline", "", 0)
    # Its only child is made already: nothing of it is to be read as Markdown.
    inline.children, inline.map, inline.content = [], list(lines), ""
    inline.meta = {"prepared": (raw, html)}
    state.push("paragraph_close", "p", -1)


def _insert_prepared(tokens: list[Token]) -> None:
    for token in tokens:
        if token.type == "inline" and "prepared" in token.meta:
            raw, html = token.meta["prepared"]
            child = Token("written" if html is None else "formula", "", 0, content=html or raw)
            child.meta = {"display": True}
            token.children = [child]


# --- pictures ----------------------------------------------------------------------------------


def _picture(state: StateInline, silent: bool) -> bool:
    """A picture that brings its bytes along; any other one stands as written."""
    if state.src[state.pos] != "!":
        return False
    found = _PICTURE.match(state.src, state.pos)
    is_shown = found is not None and is_harmless_picture(found[2])
    found = found or _OTHER_PICTURE.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        token = state.push("picture" if is_shown else "written", "img" if is_shown else "", 0)
        token.content = found[0]
        token.attrs = {"src": found[2], "alt": found[1]} if is_shown else {}
    state.pos = found.end()
    return True


# --- tables ------------------------------------------------------------------------------------


def _complete_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A table of GFM, unless it is huge or has rows with more cells than its head, which GFM drops."""
    if start < state.env.get("no_table_before", 0) or not table(state, start, end, True):
        return False
    if (misfit := _first_misfit(state, start, end)) is not None:
        state.env["no_table_before"] = misfit + 1  # each line is looked at once
        return False
    return silent or bool(table(state, start, end, silent))


def _first_misfit(state: StateBlock, start: int, end: int) -> int | None:
    """The row that would lose cells, or with which the table grows too large."""
    columns, cells = 0, 0
    for line in range(start, end):
        if line == start + 1:
            continue
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip()
        if not text or state.sCount[line] < state.blkIndent:
            return None
        row = len(escapedSplit(text.removeprefix("|").removesuffix("|")))
        columns = columns or row
        cells += columns
        if row > columns or cells > MOST_CELLS:
            return line
    return None


# --- headings ----------------------------------------------------------------------------------


def _set_levels(state: StateCore) -> None:
    """Put headings below those of the page, without a gap: a reply that begins with ### begins at `top`."""
    _insert_prepared(state.tokens)
    headings = [token for token in state.tokens if token.type.startswith("heading_")]
    used = sorted({token.tag for token in headings})
    for token in headings:
        token.tag = f"h{min(6, state.env.get('top', 2) + used.index(token.tag))}"
