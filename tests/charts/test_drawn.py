"""Drawn charts: content, text descriptions and colours."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.browser.test_contrast import contrast
from tests.conftest import MakeStudy
from tests.planted import computed, figures, talked, with_report_of_two
from turnwise.charts.drawing import drawings, svgs
from turnwise.charts.layout import DARK, LIGHT, Palette, shorten
from turnwise.reports.models import Chart
from turnwise.studies.models import Study

TOKENS = (Path(__file__).parents[2] / "static/css/tokens.css").read_text()
LIGHT_TOKENS, DARK_TOKENS = TOKENS.split("@media (prefers-color-scheme: dark)")


def colour(name: str, css: str) -> str:
    """The colour that a variable has in a style sheet, through the variables it refers to."""
    value = re.search(rf"--{name}:\s*([^;]+);", css) or re.search(rf"--{name}:\s*([^;]+);", TOKENS)
    assert value
    other = re.fullmatch(r"var\(--([\w-]+)\)", value.group(1))
    return colour(other.group(1), css) if other else value.group(1)


SVG_TAG = "{http://www.w3.org/2000/svg}"
Painted = tuple[set[str], set[tuple[str, float]], set[str]]


def painted(svg: str, css: str) -> Painted:
    """The colours of marks and lines, those of bands with their opacity, and those of texts."""
    marks, bands, texts = set(), set(), set()
    for each in ElementTree.fromstring(svg).iter():
        for kind in ("fill", "stroke"):
            found = re.fullmatch(r"var\(--([\w-]+)\)", each.get(kind, ""))
            opacity = float(each.get("opacity") or each.get(f"{kind}-opacity") or 1)
            if not found or found.group(1) == "chart-grid":
                continue
            if each.tag == f"{SVG_TAG}text":
                texts.add(colour(found.group(1), css))
            elif opacity < 1:
                bands.add((colour(found.group(1), css), opacity))
            elif found.group(1) != "chart-ink":
                marks.add(colour(found.group(1), css))
    return marks, bands, texts


def blended(over: str, share: float, ground: str) -> str:
    """The colour of one with so much opacity over another."""
    pairs = zip(*((int(each[i : i + 2], 16) for i in (1, 3, 5)) for each in (over, ground)), strict=True)
    return "#" + "".join(f"{round(share * top + (1 - share) * below):02x}" for top, below in pairs)


@pytest.mark.parametrize(
    ("palette", "css"),
    [(LIGHT, LIGHT_TOKENS), (DARK, DARK_TOKENS)],
)
def test_files_have_the_colours_of_the_page(palette: Palette, css: str) -> None:
    names = ("chart-ink", "chart-grid", "chart-reference", "chart-1", "chart-2", "chart-3", "surface")
    drawn = (palette.ink, palette.grid, palette.reference, *palette.series, palette.surface)

    assert [colour(name, css) for name in names] == list(drawn)


@pytest.mark.django_db(transaction=True)
class TestOfAStudy:
    @pytest.fixture
    def reported(self, short: Study) -> Study:
        return with_report_of_two(short)

    def test_every_chart_has_a_text_description(self, reported: Study) -> None:
        words = {
            chart.name: ElementTree.fromstring(chart.svg).get("aria-label", "")
            for chart in Chart.objects.filter(report__study=reported)
        }

        # Sensible 3 of 4, specific 2 of 4. First replies: 1 of 2 and 1 of 2. Second: 2 of 2 and 1 of 2.
        assert sorted(words) == ["by-reply", "plane", "scores"]
        assert "Scripty: Sensibleness 75 percent" in words["scores"]
        assert "Specificity 50 percent" in words["plane"]
        assert re.search(r"Scripty: 50 percent\b.* at reply 1, 75 percent\b.* at reply 2", words["by-reply"])

    def test_the_plane_has_the_papers_systems(self, reported: Study) -> None:
        svg = Chart.objects.get(report__study=reported, name="plane").svg

        published = {"Human, published", "Meena (full), published", "XiaoIce, published"}
        assert published | {"1", "Scripty", "a"} <= set(ElementTree.fromstring(svg).itertext())

    def test_the_best_bot_is_first_and_published_values_have_the_mark_of_their_score(
        self, reported: Study
    ) -> None:
        result = figures(reported.reports.get())
        assert result
        good, bad = ({**result["bots"][0], "bot": name} for name in ("Good", "Bad"))
        bad["cells"] = [{"value": 10.0}] * 3
        result["bots"] = [bad, good]

        root = ElementTree.fromstring(svgs(result)["scores"])

        texts = [text for text in root.itertext() if text.strip()]
        assert texts.index("Good") < texts.index("Bad") < texts.index("Published") < texts.index("Human")
        # Only marks may be where the paper's values are: nothing goes across a whole panel.
        lines = [
            each.get("d", "") for each in root.iter(f"{SVG_TAG}path") if "chart-reference" in str(each.attrib)
        ]
        assert lines == []

    def test_long_names_are_shortened_in_what_a_phone_shows(self, reported: Study) -> None:
        result = figures(reported.reports.get())
        assert result
        result["bots"] = [{**result["bots"][0], "bot": "A system whose name goes on and on and on"}]

        drawn = drawings(result)["scores"]

        assert "A system whose name goes on and o…" in drawn.svg
        assert "A system whose name goes on…" in drawn.narrow_svg

    def test_letters_of_east_asia_count_twice(self) -> None:
        assert shorten("一二三四五", 10) == "一二三四五"
        assert shorten("一二三四五六", 10) == "一二三四…"

    def test_the_axis_of_replies_counts_whole_replies(self, short: Study) -> None:
        talked(short, [(True, True)])
        computed(short)
        svg = Chart.objects.get(report__study=short, name="by-reply").svg

        ticks = [
            text for text in ElementTree.fromstring(svg).itertext() if re.fullmatch(r"\d+(\.\d+)?", text)
        ]

        assert sorted(set(ticks), key=float) == ["0", "1", "25", "50", "75", "100"]

    def test_the_marks_of_bots_on_the_plane_are_whole_at_its_edges(self, reported: Study) -> None:
        root = ElementTree.fromstring(Chart.objects.get(report__study=reported, name="plane").svg)
        clipped = [group for group in root.iter("{http://www.w3.org/2000/svg}g") if group.get("clip-path")]
        colours = {each.get("fill") for group in clipped for each in group.iter()}
        colours |= {each.get("stroke") for group in clipped for each in group.iter()}

        assert "var(--chart-reference)" in colours
        assert "var(--chart-1)" not in colours

    def test_ids_that_a_chart_refers_to_are_in_it_and_unique_in_the_page(self, reported: Study) -> None:
        ids: list[str] = []
        for chart in Chart.objects.filter(report__study=reported):
            for svg in (chart.svg, chart.narrow_svg):
                referred = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
                own = re.findall(r'\bid="([^"]+)"', svg)
                assert referred == set(own)
                assert "xlink" not in svg
                ids += own

        assert len(ids) == len(set(ids)) > 6

    @pytest.mark.parametrize("css", [LIGHT_TOKENS, DARK_TOKENS], ids=["light", "dark"])
    def test_marks_and_text_have_enough_contrast(self, reported: Study, css: str) -> None:
        """WCAG 2.2, 1.4.11 and 1.4.3: three to one for marks and whiskers, also over a band; text 4.5."""
        surface = colour("surface", css)
        for chart in Chart.objects.filter(report__study=reported):
            for svg in (chart.svg, chart.narrow_svg):
                marks, bands, texts = painted(svg, css)
                grounds = {surface, *(blended(each, share, surface) for each, share in bands)}
                assert marks or chart.name == "plane"
                for mark in marks:
                    assert min(contrast(mark, ground) for ground in grounds) >= 3, (chart.name, mark)
                for text in texts:
                    assert contrast(text, surface) >= 4.5

    def test_the_plane_is_for_sensibleness_and_specificity_only(self, make_study: MakeStudy) -> None:
        study = make_study(question_set="human-likeness", min_turns=2)
        computed(study)

        assert not Chart.objects.filter(name="plane").exists()
