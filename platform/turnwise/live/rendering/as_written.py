"""Rules for markdown-it that leave as written what it would change: numbers of lists, addresses of links."""

import re

from markdown_it import MarkdownIt
from markdown_it.common.utils import replaceEntityPattern
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.list import list_block
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.link import link

_LEADING_ZERO = re.compile(r"0\d{1,8}[.)](?:\s|$)")
_REFERENCE = re.compile(r"&([a-z#][a-z0-9]{1,31});", re.IGNORECASE)


def keep_as_written(markdown: MarkdownIt) -> None:
    """Teach a parser to leave lists with leading zeros and links with character references as written."""
    markdown.block.ruler.at("list", _list_without_zeros, {"alt": ["paragraph", "reference", "blockquote"]})
    markdown.inline.ruler.before("link", "written_link", _link_with_reference)


def _list_without_zeros(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A list, unless a number has leading zeros, which HTML cannot show: then its lines are text."""
    first = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if _LEADING_ZERO.match(first):
        return False
    before = len(state.tokens)
    if not list_block(state, start, end, silent):
        return False
    items = [token for token in state.tokens[before:] if token.type == "list_item_open"]
    if any(len(item.info) > 1 and item.info.startswith("0") for item in items):
        del state.tokens[before:]
        _push_written(state, start)
    return True


def _push_written(state: StateBlock, start: int) -> None:
    """Push the lines from `start` to the current one as a paragraph of text."""
    state.push("paragraph_open", "p", 1).map = [start, state.line]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = "", [start, state.line], []
    raw = state.getLines(start, state.line, state.blkIndent, False).rstrip()
    inline.meta = {"prepared": (raw, None)}
    state.push("paragraph_close", "p", -1)


def _link_with_reference(state: StateInline, silent: bool) -> bool:
    """A link whose address or title has a reference such as `&amp;`, which the parser would replace."""
    start = state.pos
    if state.src[start] != "[" or "&" not in state.src:
        return False
    label_end = state.md.helpers.parseLinkLabel(state, start, True)
    if label_end < 0 or not link(state, True):
        return False
    if not _has_reference(state.src[label_end + 1 : state.pos]):
        state.pos = start
        return False
    if not silent:
        state.push("written", "", 0).content = state.src[start : state.pos]
    return True


def _has_reference(target: str) -> bool:
    return any(replaceEntityPattern(found[0], found[1]) != found[0] for found in _REFERENCE.finditer(target))
