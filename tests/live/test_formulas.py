"""LaTeX in replies as MathML; what is no formula, or cannot be rendered, stands exactly as written."""

import pytest

from turnwise.live.markdown import as_html
from turnwise.live.rendering.formulas import mathml_of


@pytest.mark.parametrize(
    "text",
    [
        r"\( p = 2 \)",
        "$p = 2$",
        "$$p = 2$$",
        r"\[ p = 2 \]",
        "$$\np = 2\n$$",
        "\\[\np = 2\n\\]",
        "- $p = 2$",
        "a\n$$\np = 2\n$$",
    ],
)
def test_each_pair_of_delimiters_makes_a_formula(text: str) -> None:
    html = as_html(text)

    assert html.count("<math") == 1
    assert "<mi>p</mi><mo>=</mo><mn>2</mn>" in html
    assert "$" not in html
    assert "\\" not in html


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "US$5 or AU$7, 30$ at most, $7 a piece",
        "$ 5$ and 6 $",
        "$HOME and $PATH",
        r"\$5 or \$6",
        "between $20-$30",
        r"\(unbalanced",
        r"unbalanced\]",
        r"\[citation needed\]",
        r"\[see the notes below\]",
        "$5,000 for the car, and the rest$",
        "$",
        "$$",
        "$$$$",
    ],
)
def test_money_and_prose_stay_text(text: str) -> None:
    html = as_html(text)

    assert "<math" not in html
    assert text.replace(r"\$", "$") in html


@pytest.mark.parametrize(
    "formula",
    [
        r"\(\nosuchcommand{x}\)",
        r"$$\frac{a}{b$$",
        r"\(\def\a{\a\a}\a\)",
        r"\[\newcommand{\x}{y} \x\]",
        r"\(x %comment\)",
        r"\(\color{red} x\)",
        r"\(\label{eq} x_1 **y**\)",
        r"\(" + r"\frac{1}{" * 40 + "x" + "}" * 40 + r"\)",
    ],
)
def test_what_cannot_be_rendered_stands_as_written(formula: str) -> None:
    assert as_html(formula) == f'<p><span class="as-written">{formula}</span></p>'


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\frac{1}{2}", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        ("x^2", "<msup><mi>x</mi><mn>2</mn></msup>"),
        (r"\sqrt[3]{x}", "<mroot><mi>x</mi><mn>3</mn></mroot>"),
        (r"\mathbb{R}", "<mi>\N{DOUBLE-STRUCK CAPITAL R}</mi>"),
        (r"\text{for all } n", "<mtext>for\N{NO-BREAK SPACE}all\N{NO-BREAK SPACE}</mtext>"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "<mtd><mn>4</mn></mtd>"),
        (r"\begin{array}{cc}a&b\end{array}", "<mi>b</mi>"),
        (r"\begin{align}a&=b\\[6pt]c&=d\end{align}", '<mtd class="math-right"><mi>c</mi></mtd>'),
        (r"50\%", "<mn>50</mn><mi>%</mi>"),
    ],
)
def test_formulas_become_mathml(latex: str, shown: str) -> None:
    made = mathml_of(latex, is_display=True)

    assert made is not None
    assert shown in made
    assert " style=" not in made
    assert "(1)" not in made


def test_a_formula_carries_its_source() -> None:
    assert 'alttext="a &lt; b"' in as_html("$a < b$")


def test_definitions_do_not_reach_the_next_formula() -> None:
    as_html(r"$\newcommand{\secret}{x}\secret$")

    assert "<math" not in as_html(r"$\secret$")
