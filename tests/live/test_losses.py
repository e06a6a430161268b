"""No character is lost: every visible one of a reply is found again in what people see of it."""

import base64
import os
import random
import re
import time
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.live.test_markdown import HOSTILE, assert_harmless
from turnwise.live.markdown import as_html
from turnwise.live.rendering.losses import SYNTAX, compared, is_complete, visible_text

# 10,000 where asked for: TURNWISE_RENDERED=10000 python -m pytest tests/live/test_losses.py
EXAMPLES = int(os.environ.get("TURNWISE_RENDERED", "300"))
pytestmark = pytest.mark.timeout(300 + EXAMPLES)

WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12) | st.sampled_from(
    [
        "word",
        "Straße",
        "你好",
        "مرحبا",
        "👩‍🔬",
        "5",
        "€",
        "x_1",
        "a*b",
        "…",
        "50%",
        "snake_case",
        "#tag",
        "&nbsp;",
        "<b>",
    ]
)
FORMULAS = st.sampled_from(
    [
        r"\frac{a}{b}",
        "x^2",
        r"\alpha",
        r"\nosuch{q}",
        r"\def\a{z}\a",
        "5",
        "5 and ",
        r"\text{if } x",
        "a < b",
        "{",
        "%c",
        r"\sum_{i=1}^n i",
    ]
)
PIECES = st.one_of(
    WORDS,
    st.tuples(st.sampled_from(["**", "*", "_", "~~", "`", "``", "$", "$$"]), WORDS | FORMULAS).map(
        lambda p: p[0] + p[1] + p[0]
    ),
    FORMULAS.map(lambda each: rf"\({each}\)"),
    FORMULAS.map(lambda each: rf"\[{each}\]"),
    st.tuples(WORDS, WORDS).map(lambda p: f'[{p[0]}](https://a.org/{p[1]} "{p[0]}")'),
    st.tuples(
        WORDS, st.sampled_from(["&amp;", "&lt;", "&#65;", "&#x41;", "&copy;", "&nosuch;", "&"]), WORDS
    ).map(lambda p: f"[{p[0]}](https://a.org/?{p[0]}{p[1]}{p[2]})"),
    WORDS.map(lambda each: f"![{each}](https://a.org/x.png)"),
    WORDS.map(lambda each: f"<https://a.org/{each}>"),
    st.sampled_from(
        [
            "\\",
            "$",
            "*",
            "_",
            "`",
            "[",
            "]",
            "(",
            ")",
            "<",
            ">",
            "|",
            "!",
            "&amp;",
            "  ",
            "\\(",
            "\\]",
            "^",
            *HOSTILE,
        ]
    ),
)
INLINE = st.lists(PIECES, min_size=1, max_size=6).map(" ".join)
ROWS = st.lists(
    st.lists(WORDS, min_size=1, max_size=5).map(lambda cells: "| " + " | ".join(cells) + " |"), max_size=4
)
LEADING_ZEROS = st.sampled_from(["1. ", "00. ", "0. ", "007) ", "02. ", "- 03. ", "> 04. "])
BLOCKS = st.one_of(
    INLINE,
    st.tuples(st.integers(1, 7), INLINE).map(lambda p: "#" * p[0] + " " + p[1]),
    st.tuples(
        st.sampled_from(["- ", "* ", "1. ", "7) ", "03. ", "> ", "- [x] ", "- [ ] ", "    ", "> - "]), INLINE
    ).map("".join),
    st.tuples(LEADING_ZEROS, INLINE, st.sampled_from(["\n", "\n\n"]), LEADING_ZEROS, INLINE).map("".join),
    st.tuples(st.sampled_from(["", "python", 'js title="a"', "mermaid", "c++"]), INLINE).map(
        lambda p: f"```{p[0]}\n{p[1]}\n```"
    ),
    st.tuples(ROWS, ROWS).map(lambda p: "\n".join([*p[0][:1], "|---|:-:|", *p[1]])),
    st.tuples(
        st.sampled_from([("$$", "$$"), ("\\[", "\\]"), ("\\begin{align}", "\\end{align}")]), FORMULAS
    ).map(lambda p: f"{p[0][0]}\n{p[1]}\n{p[0][1]}"),
    st.tuples(INLINE, st.sampled_from(["---", "==="])).map("\n".join),
    st.sampled_from(["---", "```", "~~~", "$$", "\\[", "|", ""]),
)
REPLIES = st.lists(BLOCKS, min_size=1, max_size=6).flatmap(
    lambda blocks: st.sampled_from(["\n", "\n\n", "\n  "]).map(lambda between: between.join(blocks))
)


@settings(max_examples=EXAMPLES, deadline=None)
@given(REPLIES)
def test_every_visible_character_of_a_reply_is_found_again(reply: str) -> None:
    html = as_html(reply)

    assert_harmless(html)
    rest = iter(re.sub(r"\s", "", visible_text(html)))
    lost = [each for each in compared(reply) if each not in rest]
    assert lost == []


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=SYNTAX + "☑"), max_size=200))
def test_a_text_without_marks_is_shown_to_the_letter(text: str) -> None:
    assert "".join(visible_text(as_html(text)).split()) == "".join(text.split())


PLAIN = st.text("abc 12é", min_size=1, max_size=10).map(str.strip).filter(bool)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, 99), PLAIN, st.sampled_from(["&amp;", "&lt;", "&#65;"]), st.booleans())
def test_lists_with_zeros_and_links_with_references_do_not_keep_the_rest_from_being_formatted(
    number: int, text: str, reference: str, is_nested: bool
) -> None:
    written = f"00{number}. {text}", f"[{text}](https://a.org/?a=1{reference}b=2)"
    html = as_html(f"**bold**\n\n{'- ' if is_nested else ''}{written[0]}\n\n{written[1]}")

    assert "<strong>bold</strong>" in html
    assert all(each in visible_text(html) for each in written)


def test_the_check_notices_a_loss() -> None:
    assert is_complete("**a** b", "<p><strong>a</strong> b</p>")
    assert not is_complete("**a** b", "<p><strong>a</strong></p>")
    assert not is_complete("a b", "<p>b a</p>")
    assert not is_complete("| 1 | 2 |", "<td>1</td>")
    assert not is_complete("50% & more", "<p>50 more</p>")


def test_a_row_with_more_cells_than_the_head_loses_none() -> None:
    html = as_html("| a | b |\n|---|---|\n| 1 | 2 | 3 |")

    assert "<table>" not in html
    assert "| 1 | 2 | 3 |" in html


def picture(size: tuple[int, int], kind: str = "PNG") -> str:
    file = BytesIO()
    Image.new("L", size).save(file, kind)
    return f"data:image/{kind.lower()};base64,{base64.b64encode(file.getvalue()).decode()}"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_small_pictures_that_bring_their_bytes_are_shown(kind: str) -> None:
    address = picture((20, 10), kind)

    assert as_html(f"A dot: ![dot]({address})") == f'<p>A dot: <img src="{address}" alt="dot"></p>'


@pytest.mark.parametrize(
    "address",
    [
        picture((5_000, 5_000)),
        picture((20, 10)).replace("png", "svg+xml"),
        picture((20, 10)).replace("png", "jpeg"),
        "data:image/png;base64,AAAA",
        "data:image/svg+xml,<svg onload=alert(1)>",
        "https://a.org/cat.png",
        "//a.org/cat.png",
    ],
)
def test_other_pictures_stand_as_written(address: str) -> None:
    html = as_html(f"![dot]({address})")

    assert "<img" not in html
    assert address.replace("<", "&lt;").replace(">", "&gt;") in html


def fill(piece: str) -> str:
    return (piece * (32_000 // len(piece) + 1))[:32_000]


@pytest.mark.parametrize(
    "text",
    [
        "|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n" + ("|" + "x|" * 200 + "\n") * 60,
        "|" + "a|" * 200 + "\n|" + "-|" * 200 + "\n" + "|x|\n" * 6000,
        "$" * 5_000,
        fill(r"$\def\a{\a\a}\a$ "),
        fill(r"\(\newcommand{\a}{\a\a}\a\) "),
        "\n".join(">" * depth + " a" for depth in range(250)),
        "\n".join("  " * depth + "- a" for depth in range(170)),
        "a" * 10_000_000,
        *map(
            fill,
            [
                "[",
                "[a](",
                "_a",
                "**a** ",
                "|-\n",
                "a|b\n-|-\n",
                "\\(",
                "$$x\n",
                "\\[\n",
                "`a` ",
                "<",
                "- a\n",
                "# a\n",
            ],
        ),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_hostile_replies_lose_nothing_and_take_their_bounded_time(text: str) -> None:
    # Processor time, so that a busy machine does not count; it is a tenth of this where nothing else runs.
    began = time.process_time()
    html = as_html(text + " ")

    assert time.process_time() - began < 2.0
    assert is_complete(text, html)


def test_mixtures_of_marks_lose_nothing() -> None:
    chance = random.Random(7)
    pieces = [
        "a",
        "1",
        "*",
        "**",
        "_",
        "`",
        "```",
        "\n",
        "\n\n",
        "$",
        "\\",
        "(",
        ")",
        "[",
        "]",
        "|",
        "-",
        "> ",
        "# ",
        "{",
        "}",
        "&",
        "<",
        "~~",
        " ",
        "é",
    ]
    for _ in range(EXAMPLES):
        text = "".join(chance.choices(pieces, k=60))
        assert is_complete(text, as_html(text))
