"""Check that formatting loses nothing: every visible character of the source is in the text that is shown.

Excepted are the marks that Markdown consists of, and nothing else. A link shows its address and its title on
demand, and a formula carries its source, so these count as shown.
"""

import re
from html import unescape

SYNTAX = "!\"#$'()*+-.:<=>[\\]_`|~"
"""Marks that formatting may consume. Letters, digits and all other signs must be shown."""
_NOT_COMPARED = re.compile(f"[{re.escape(SYNTAX)}\\s\x00-\x1f\x7f-\x9f]+")
_PARTS = re.compile(r'<(/?)(\w+)((?:"[^"]*"|[^">])*)>|[^<]+')
_CARRIED = re.compile(r'\b(?:value|start|alttext)="([^"]*)"')
_ADDRESSES = re.compile(r'\b(href|src|title|alt)="([^"]*)"')
_TICKED = "☑"


def is_complete(source: str, html: str) -> bool:
    """True if all characters of the source but marks of syntax are in the HTML, in their order."""
    expected, visible = compared(source), compared(visible_text(html))
    if expected == visible:
        return True
    rest = iter(visible)
    return all(character in rest for character in expected)


def compared(text: str) -> str:
    """The text without white space, control characters and marks of syntax."""
    return _NOT_COMPARED.sub("", text)


def visible_text(html: str) -> str:
    """Text of sanitised HTML with what attributes carry: addresses of links, sources of formulas."""
    parts: list[str] = []
    links: list[str] = []
    in_formula = False
    for part in _PARTS.finditer(html):
        closes, tag, attributes = part.groups()
        if tag is None:
            if not in_formula:
                parts.append(part[0].replace(_TICKED, f"{_TICKED}xX"))
        elif tag == "math":
            in_formula = not closes
            parts.extend(_CARRIED.findall(attributes))
        elif tag == "a":
            parts.extend([links.pop()] if closes and links else [])
            links.extend([] if closes else [_in_order(attributes)])
        elif tag == "img":
            parts.append(_in_order(attributes))
        elif attributes and not in_formula:
            parts.extend(_CARRIED.findall(attributes))
    return unescape("".join(parts))


def _in_order(attributes: str) -> str:
    """Attributes of a link or picture, in the order of Markdown."""
    values = dict(_ADDRESSES.findall(attributes))
    return " ".join(values[name] for name in ("alt", "href", "src", "title") if name in values)
