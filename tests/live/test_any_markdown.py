"""What holds for whatever a bot writes: its HTML is whole, loses nothing, runs nothing and loads nothing."""

from html.parser import HTMLParser
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from tests.fuzzing import tries
from turnwise.live.markdown import as_html, has_marks
from turnwise.live.rendering.losses import is_complete

PIECES = [
    *(
        "*",
        "**",
        "_",
        "__",
        "~~",
        "`",
        "```",
        "```python\n",
        "~~~",
        "# ",
        "###### ",
        "- ",
        "1. ",
        "0) ",
        "> ",
    ),
    *("\n", "\n\n", "    ", "\t", "|", "|---|", "| a | b |\n|---|:-:|\n| 1 | 2 |\n", "- [ ] ", "- [x] "),
    *("[", "](", ")", "![", "][", "]: ", "<", ">", "<b>", "</b>", "---\n", "===\n", '"', "'", "&", "&lt;"),
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<!--", "-->"),
    *("<![CDATA[", "<style>*{}</style>", "<a href='javascript:alert(1)'>", "[x](javascript:alert(1))"),
    *("[x](data:text/html,x)", "![x](data:image/svg+xml,<svg/>)", "![x](https://example.org/x.png)"),
    *("[x](//example.org)", "<https://example.org>", "https://example.org/?a=b&c=d", "&#0;", "&#x110000;"),
    *("\\", "\\(", "\\)", "\\[", "\\]", "$", "$$", "\\frac{", "}{", "}", "^", "\\text{<b>}", "&amp"),
    *(
        "\\href{javascript:alert(1)}{x}",
        "\\begin{matrix}",
        "\\end{matrix}",
        "on",
        "style=",
        "1",
        "x",
        "Word ",
    ),
    *("\u00df", "\u6f22", "\u05d0", "\u202e", "\u200b", "\x00", "\r", "\x1b", "😀", "\u200d", "\ufeff"),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=40).map("".join)
VOID = {"br", "hr", "img", "input", "wbr"}


class Reading(HTMLParser):
    """Reads HTML as a browser would: open elements, and what could run or load something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style", "iframe", "object", "embed", "link", "base", "form", "svg", "meta"):
            self.wrong.append(tag)
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "srcset", "formaction", "background", "xlink:href"):
                self.wrong.append(f"{tag} {name}")
            if name == "href" and urlsplit(value or "").scheme not in ("", "http", "https", "mailto"):
                self.wrong.append(f"{tag} {value}")
            if name == "src" and not (value or "").startswith("data:image/"):
                self.wrong.append(f"{tag} {value}")
        if tag not in VOID:
            self.open.append(tag)

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")


@tries(250)
@given(TEXTS, st.booleans(), st.integers(2, 6))
def test_any_reply_is_whole_harmless_and_complete(text: str, indented_code: bool, top: int) -> None:
    html = as_html(text, indented_code=indented_code, top=top)

    reading = Reading()
    reading.feed(html)
    reading.close()
    assert (reading.wrong, reading.open) == ([], [])
    assert is_complete(text, html)
    assert as_html(text, indented_code=indented_code, top=top) == html
    has_marks(text)


@tries(40)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3), st.integers(100, 3000))
def test_what_is_repeated_thousands_of_times_ends(pieces: list[str], times: int) -> None:
    text = "".join(pieces) * times

    assert is_complete(text, as_html(text))
