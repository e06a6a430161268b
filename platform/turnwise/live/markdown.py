"""Markdown of chatbots and researchers as safe HTML.

One library renders, another one sanitises, and the result is checked for losses. CommonMark, GFM and formulas
in LaTeX. HTML in the text stays text and nothing is loaded from elsewhere. What cannot be rendered stands as
written; docs/formatting.md has every rule.
"""

from html import escape
from typing import Any

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

from turnwise.live.rendering import formulas
from turnwise.live.rendering.highlighting import highlighted
from turnwise.live.rendering.losses import is_complete, visible_text
from turnwise.live.rendering.recent import Recent
from turnwise.live.rendering.syntax import add_syntax

LONGEST_TEXT = 40_000
"""Characters of a text that is formatted; a longer one is shown as written."""
_TAGS = {
    "p", "br", "hr", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "a", "img", "div",
    "span", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "title"}, "ol": {"start"}, "li": {"value", "class"}, "img": {"src", "alt"},
    "div": {"class"}, "span": {"class"}, "p": {"class"}, "th": {"class", "scope"}, "td": {"class"},
    "math": {"display", "alttext"},
}  # fmt: skip
# What makes a reply look odd where it is shown as written.
_TELLING = (
    "<strong>", "<em>", "<s>", "<h2>", "<li", "<code>", "<table>", "<math", "<blockquote>", "<a ", "<img ",
)  # fmt: skip
_SCHEMES = ("http", "https", "mailto")
_DEEPEST = 20
# Beyond these, 32,000 characters would take more than some tens of milliseconds. Time grows with the square
# of opening brackets, and with the number of the other marks and of lines.
_MOST_BRACKETS = 500
_MOST_MARKS = 6_000
_MOST_LINES = 3_000
_REMEMBERED_CHARACTERS = 8_000_000

_CLEANER = nh3.Cleaner(
    tags=_TAGS | formulas.TAGS,
    attributes=_ATTRIBUTES | dict.fromkeys(formulas.TAGS - {"math"}, formulas.ATTRIBUTES),
    url_schemes={*_SCHEMES, "data"},
    link_rel="nofollow noopener noreferrer ugc",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)


def _renderer() -> MarkdownIt:
    # Line breaks stay: people and models write them in chats.
    options = {"html": False, "breaks": True, "maxNesting": _DEEPEST, "tasklists": True}
    made = MarkdownIt("commonmark", options)
    made.enable(["strikethrough", "table"])
    made.disable(["html_block", "html_inline", "image", "reference", "entity"])
    made.validateLink = lambda url: url.lower().startswith(tuple(f"{name}:" for name in _SCHEMES))  # type: ignore[method-assign]  # its documented way
    # Addresses stay as written.
    made.normalizeLink = lambda url: url  # type: ignore[method-assign]
    made.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    add_syntax(made)
    for name, rule in _RENDER_RULES.items():
        made.add_render_rule(name, lambda _, tokens, at, *_rest, rule=rule: rule(tokens[at]))
    return made


def _fence(token: Token) -> str:
    info = token.info.strip()
    code = highlighted(token.content, info.partition(" ")[0]) if info else None
    label = f'<p class="code__language">{escape(info)}</p>' if info else ""
    return f'<div class="code">{label}<pre><code>{code or escapeHtml(token.content)}</code></pre></div>\n'


def _formula(token: Token) -> str:
    return f'<span class="formula">{token.content}</span>' if token.meta.get("display") else token.content


def _item(token: Token) -> str:
    number = f' value="{int(token.info)}"' if token.info else ""
    if "checked" not in token.meta:
        return f"<li{number}>"
    return f'<li{number} class="task">{"☑" if token.meta["checked"] else "☐"} '


def _cell(token: Token) -> str:
    side = str(token.attrs.get("style", "")).removeprefix("text-align:")
    scope = ' scope="col"' if token.tag == "th" else ""
    return f"<{token.tag}{scope}" + (f' class="to-{side}">' if side else ">")


def _picture(token: Token) -> str:
    return f'<img src="{escape(str(token.attrs["src"]))}" alt="{escape(str(token.attrs["alt"]))}">'


_RENDER_RULES: dict[str, Any] = {
    "fence": _fence,
    "code_block": _fence,
    "formula": _formula,
    "picture": _picture,
    "written": lambda token: f'<span class="as-written">{escapeHtml(token.content)}</span>',
    "list_item_open": _item,
    "th_open": _cell,
    "td_open": _cell,
    "table_open": lambda _: '<div class="table"><table>\n',
    "table_close": lambda _: "</table></div>\n",
}


def ready(made: MarkdownIt) -> MarkdownIt:
    """Compile the renderer's rules now: at the first text, two threads could find them half compiled."""
    made.render("*Anything*")
    return made


_MARKDOWN = ready(_renderer())
_WITHOUT_INDENTED_CODE = ready(_renderer().disable("code"))
_RECENT: Recent[tuple[str, bool, int], SafeString] = Recent(_REMEMBERED_CHARACTERS)


def as_html(text: str, *, indented_code: bool = True, top: int = 2) -> SafeString:
    """Format Markdown as HTML without scripts or external resources; links open in a new window.

    A text that would take too long, lose a character, or show nothing (a lone “#”), is shown as written.

    Args:
        text: in Markdown.
        indented_code: whether four spaces before a line make it code; people also indent paragraphs.
        top: level of the text's highest heading, from 2 to 6: one below the page's heading above it.
    """
    key = (text, indented_code, top)
    if (known := _RECENT.get(key)) is None:
        known = _RECENT.keep(
            key, _formatted(text, _MARKDOWN if indented_code else _WITHOUT_INDENTED_CODE, top)
        )
    return known


def _formatted(text: str, renderer: MarkdownIt, top: int) -> SafeString:
    if _takes_long(text):
        return as_written(text)
    clean = _CLEANER.clean(renderer.render(text, {"top": top})).strip()
    return mark_safe(clean) if _is_seen(clean) and is_complete(text, clean) else as_written(text)


def _takes_long(text: str) -> bool:
    return (
        len(text) > LONGEST_TEXT
        or text.count("\n") > _MOST_LINES
        or text.count("[") > _MOST_BRACKETS
        or sum(map(text.count, "*_`~|$\\<&")) > _MOST_MARKS
    )


def _is_seen(clean: str) -> bool:
    return "<hr>" in clean or bool(visible_text(clean).strip())


def as_written(text: str) -> SafeString:
    """Show a text as its author wrote it, line breaks and blanks included."""
    return mark_safe(f'<p class="as-written">{escape(text, quote=False)}</p>')


def has_marks(text: str) -> bool:
    """True if formatting would change how a text looks: it has marks of Markdown or formulas."""
    return any(tag in as_html(text) for tag in _TELLING)
