"""Markdown of chatbots as HTML: formatted where it is harmless, text where it is not."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnwise.live.markdown import as_html
from turnwise.live.rendering import formulas
from turnwise.live.rendering.losses import visible_text

LINK = 'target="_blank" rel="nofollow noopener noreferrer ugc"'


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Hello **you**\nand *me*", "<p>Hello <strong>you</strong><br>\nand <em>me</em></p>"),
        ("# Title\n### Part", "<h2>Title</h2>\n<h3>Part</h3>"),
        ("3. three\n4. four", '<ol start="3">\n<li value="3">three</li>\n<li value="4">four</li>\n</ol>'),
        ("7. a\n7. b", '<ol start="7">\n<li value="7">a</li>\n<li value="7">b</li>\n</ol>'),
        ("```\nif (a < b) {}\n```", '<div class="code"><pre><code>if (a &lt; b) {}\n</code></pre></div>'),
        ("`x<y` ~~old~~", "<p><code>x&lt;y</code> <s>old</s></p>"),
        ("> so he said", "<blockquote>\n<p>so he said</p>\n</blockquote>"),
        ("[here](https://a.org/?x=1&y=2)", f'<p><a href="https://a.org/?x=1&amp;y=2" {LINK}>here</a></p>'),
        ("https://a.org and www.a.org", "<p>https://a.org and www.a.org</p>"),
        ("2 * 3 * 4 = 24", "<p>2 * 3 * 4 = 24</p>"),
        ("&amp; &lt;b&gt; stay", "<p>&amp;amp; &amp;lt;b&amp;gt; stay</p>"),
        (
            "- [x] done\n- [ ] open",
            '<ul>\n<li class="task">☑ done</li>\n<li class="task">☐ open</li>\n</ul>',
        ),
        # Pictures from elsewhere are neither loaded nor made a link.
        (
            "![a cat](https://a.org/cat.png)",
            '<p><span class="as-written">![a cat](https://a.org/cat.png)</span></p>',
        ),
        # Of which nothing would be seen.
        ("#", '<p class="as-written">#</p>'),
        ("- ", '<p class="as-written">- </p>'),
        (">", '<p class="as-written">&gt;</p>'),
        # A number with leading zeros has no list that shows it.
        ("007. Bond", '<p class="as-written">007. Bond</p>'),
    ],
)
def test_marks_are_formatted(written: str, shown: str) -> None:
    assert as_html(written) == shown


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](vbscript:x) [y](data:text/html;base64,PHNjcmlwdD4=) [z](file:///etc/passwd)",
    "[x](/admin/) [y](//evil.example) [z](../up)",
    "<javascript:alert(1)> <data:text/html,x>",
    '[x](https://a.org "onmouseover=alert(1)")',
    '[x](https://a.org/"onmouseover="alert(1))',
    "![x](https://a.org/x.png) ![y](javascript:alert(1))",
    '```"><script>alert(1)</script>\nx\n```',
    "`<script>`</code><script>alert(1)</script>",
    "[x]: javascript:alert(1)\n\n[x]",
    "<!-- --><style>*{display:none}</style><iframe src=//evil.example>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
]


class Tags(HTMLParser):
    """What a browser would find: tags with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


ATTRIBUTES = {
    "a": {"href", "target", "rel", "title"}, "ol": {"start"}, "li": {"value", "class"}, "img": {"src", "alt"},
    **{tag: {"class"} for tag in ("p", "div", "span", "td")}, "th": {"class", "scope"},
    **dict.fromkeys(formulas.TAGS, formulas.ATTRIBUTES), "math": {"alttext", "display"},
}  # fmt: skip
KNOWN = {
    "p", "br", "hr", "strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "a", "img", "div",
    "span", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td", *formulas.TAGS,
}  # fmt: skip


def assert_harmless(html: str) -> None:
    for tag, attributes in Tags(html).found:
        assert tag in KNOWN, html
        assert set(attributes) <= ATTRIBUTES.get(tag, set()), html
        if tag == "a":
            assert re.match("(https?|mailto):", attributes.get("href") or ""), html
            assert "nofollow" in (attributes["rel"] or ""), html
        if tag == "img":
            assert re.match("data:image/(png|jpeg|gif|webp);base64,", attributes.get("src") or ""), html


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_gets_through(text: str) -> None:
    assert_harmless(as_html(text))


@settings(max_examples=50)
@given(
    st.lists(
        st.sampled_from([*HOSTILE, "**", "`", "\n", "\n\n", "> ", "- ", "<", "](", "[", "#", "a"]),
        max_size=12,
    )
)
def test_no_mixture_gets_through_either(parts: list[str]) -> None:
    text = "".join(parts)
    html = as_html(text)

    assert_harmless(html)
    if text.strip():
        assert visible_text(html).strip() or "<hr>" in html, "nothing is seen of it"


def test_what_would_take_too_long_is_shown_as_written() -> None:
    assert as_html("[" * 501 + "**a**").startswith('<p class="as-written">[[[')
    assert "<strong>" not in as_html("[" * 501 + "**a**")
    assert "<strong>" in as_html("[" * 300 + "**a**")
    assert "<strong>" not in as_html("a" * 40_000 + " **b**")


def test_no_text_has_rules_looked_up_while_other_threads_read_them() -> None:
    """The library lists its rules at the first text: one of two threads found none, and answered 500."""
    program = """
from turnwise.live import markdown
from turnwise.manual import pages
from markdown_it.ruler import Ruler

def late(self):
    raise AssertionError("looked up after loading")

Ruler.__compile__ = late
text = "# One\\n\\n- *two*\\n\\n> three ~~four~~ [five](https://six.org)"
print(markdown.as_html(text), markdown.as_html(text, indented_code=False), pages._MARKDOWN.render(text))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("<em>two</em>") == 3
