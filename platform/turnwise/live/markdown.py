"""Markdown of chatbots and researchers as safe HTML: a small subset by one library, sanitised by another.

HTML in the text stays text, images become links, headings become bold lines: the text must neither look like
a part of the page nor load anything.
"""

from functools import lru_cache
from typing import Any

import nh3
from django.utils.html import linebreaks
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_TAGS = {"p", "br", "hr", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "a"}
_SCHEMES = ("http", "https", "mailto")
_HEADING = {"heading_open": "<p><strong>", "heading_close": "</strong></p>\n"}
_DEEPEST = 20
_REMEMBERED = 2000
# Time grows with the square of opening brackets; this many take a few milliseconds.
_MOST_MARKS = 500


def _renderer() -> MarkdownIt:
    # Line breaks stay: people and models write them in chats.
    made = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": _DEEPEST})
    made.enable("strikethrough").disable(["html_block", "html_inline", "image", "reference"])
    made.validateLink = lambda url: url.lower().startswith(tuple(f"{name}:" for name in _SCHEMES))  # type: ignore[method-assign]  # its documented way
    for rule, html in _HEADING.items():
        made.add_render_rule(rule, _constant(html))
    return made


def ready(made: MarkdownIt) -> MarkdownIt:
    """Compile the renderer's rules now: at the first text, two threads could find them half compiled."""
    made.render("*Anything*")
    return made


def _constant(html: str) -> Any:
    return lambda *_: html


_MARKDOWN = ready(_renderer())
_WITHOUT_INDENTED_CODE = ready(_renderer().disable("code"))


@lru_cache(maxsize=_REMEMBERED)
def as_html(text: str, *, indented_code: bool = True) -> SafeString:
    """Format Markdown as HTML without scripts or external resources; links open in a new window.

    A text that would take too long, or show nothing (a lone “#”), is shown as written.

    Args:
        text: in Markdown.
        indented_code: whether four spaces before a line make it code; people also indent paragraphs.
    """
    if sum(map(text.count, "[*_~`")) > _MOST_MARKS:
        return _as_written(text)
    renderer = _MARKDOWN if indented_code else _WITHOUT_INDENTED_CODE
    clean = nh3.clean(
        renderer.render(text),
        tags=_TAGS,
        attributes={"a": {"href"}, "ol": {"start"}, "*": set()},
        url_schemes=set(_SCHEMES),
        link_rel="nofollow noopener noreferrer ugc",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )
    is_seen = "<hr>" in clean or nh3.clean(clean, tags=set()).strip()
    return mark_safe(clean.strip()) if is_seen else _as_written(text)


def _as_written(text: str) -> SafeString:
    return mark_safe(linebreaks(text, autoescape=True))
