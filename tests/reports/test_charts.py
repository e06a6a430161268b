"""Charts: what they show, in words, and as files to take away."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from accounts.models import User
from dialogues.models import Fault
from reports.models import Chart
from reports.palettes import DARK, LIGHT, Palette
from reports.plots import svgs
from studies.models import Study
from tests.conftest import MakeStudy, start_dialogue
from tests.reports.conftest import SignIn, computed, talked

TOKENS = (Path(__file__).parents[2] / "static/css/tokens.css").read_text()
LIGHT_TOKENS, DARK_TOKENS = TOKENS.split("@media (prefers-color-scheme: dark)")


def colour(name: str, css: str) -> str:
    """The colour that a variable has in a style sheet, through the variables it refers to."""
    value = re.search(rf"--{name}:\s*([^;]+);", css) or re.search(rf"--{name}:\s*([^;]+);", TOKENS)
    assert value
    other = re.fullmatch(r"var\(--([\w-]+)\)", value.group(1))
    return colour(other.group(1), css) if other else value.group(1)


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
        for labels in ([(True, True), (True, False)], [(False, False), (True, True)]):
            talked(short, labels, text="Scripted & <safe>")
        computed(short)
        return short

    def test_every_chart_is_told_in_words(self, reported: Study) -> None:
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

        assert {"Human", "Meena (full)", "XiaoIce", "1", "1  Scripty"} <= set(
            ElementTree.fromstring(svg).itertext()
        )

    def test_long_names_leave_room_for_each_other_and_for_the_chart(self, reported: Study) -> None:
        result = reported.reports.get().result
        assert result
        result["bots"] = [{**result["bots"][0], "bot": "A system whose name goes on and on and on"}] * 5

        texts = {name: re.findall(r"<text[^>]*>([^<]*)", svg) for name, svg in svgs(result).items()}

        # Five bars have an inch each, which is room for a dozen letters.
        assert texts["scores"][:4] == ["A system", "whose name", "goes on and", "o…"]
        assert any(text.endswith("A system whose name goes on and o…") for text in texts["plane"])

    def test_the_axis_of_replies_counts_whole_replies(self, short: Study) -> None:
        talked(short, [(True, True)])
        computed(short)
        svg = Chart.objects.get(report__study=short, name="by-reply").svg

        ticks = [
            text for text in ElementTree.fromstring(svg).itertext() if re.fullmatch(r"\d+(\.\d+)?", text)
        ]

        assert sorted(set(ticks), key=float) == ["0", "1", "20", "40", "60", "80", "100"]

    def test_the_marks_of_bots_on_the_plane_are_whole_at_its_edges(self, reported: Study) -> None:
        root = ElementTree.fromstring(Chart.objects.get(report__study=reported, name="plane").svg)
        clipped = [group for group in root.iter("{http://www.w3.org/2000/svg}g") if group.get("clip-path")]
        colours = {each.get("fill") for group in clipped for each in group.iter()}
        colours |= {each.get("stroke") for group in clipped for each in group.iter()}

        assert "var(--chart-reference)" in colours
        assert "var(--chart-1)" not in colours

    def test_what_a_chart_refers_to_is_in_it_and_in_no_other(self, reported: Study) -> None:
        ids: list[str] = []
        for chart in Chart.objects.filter(report__study=reported):
            referred = set(re.findall(r'(?:href="|url\()#([^")]+)', chart.svg))
            own = re.findall(r'\bid="([^"]+)"', chart.svg)
            assert referred == set(own)
            assert "xlink" not in chart.svg
            ids += own

        assert len(ids) == len(set(ids)) > 3

    @pytest.mark.parametrize("name", ["scores", "plane", "by-reply"])
    @pytest.mark.parametrize(("scheme", "palette"), [("light", LIGHT), ("dark", DARK)])
    def test_a_chart_is_a_file_in_fixed_colours(
        self, reported: Study, rex: User, sign_in: SignIn, name: str, scheme: str, palette: Palette
    ) -> None:
        client = sign_in(rex)

        svg = client.get(f"/studies/{reported.pk}/report/{name}.svg?scheme={scheme}")
        pdf = client.get(f"/studies/{reported.pk}/report/{name}.pdf?scheme={scheme}")

        text = svg.content.decode()
        assert svg["Content-Type"] == "image/svg+xml"
        assert ElementTree.fromstring(text)[0].get("fill") == palette.surface
        assert "var(" not in text
        assert palette.series[0] in text
        assert f"-{name}-{scheme}.svg" in svg["Content-Disposition"]
        assert pdf["Content-Type"] == "application/pdf"
        assert pdf.content.startswith(b"%PDF-")

    @pytest.mark.parametrize("file", ["nothing.svg", "nothing.pdf", "scores.svg?scheme=pink"])
    def test_other_files_are_not_found(self, reported: Study, rex: User, sign_in: SignIn, file: str) -> None:
        assert sign_in(rex).get(f"/studies/{reported.pk}/report/{file}").status_code == 404

    def test_charts_of_older_reports_are_dropped(self, reported: Study) -> None:
        talked(reported, [(True, True)])
        newest = computed(reported)

        assert set(Chart.objects.values_list("report", flat=True)) == {newest.pk}
        assert newest.study.reports.exclude(pk=newest.pk).get().result["bots"]

    def test_the_plane_is_for_sensibleness_and_specificity_only(self, make_study: MakeStudy) -> None:
        study = make_study(question_set="human-likeness", min_turns=2)
        computed(study)

        assert not Chart.objects.filter(name="plane").exists()

    def test_the_page_has_every_part(self, reported: Study, rex: User, sign_in: SignIn) -> None:
        Fault.objects.create(
            dialogue=start_dialogue(reported), position=2, kind="late", at="2026-01-01T00:00Z"
        )
        computed(reported)

        page = sign_in(rex).get(f"/studies/{reported.pk}/report/").content.decode()

        assert page.count("<svg") == 3
        assert "1 late" in page
        assert "Finished conversations of Scripty: 2; in the paper 100 or more." in page
        assert "A conversation has at least 2 turns; in the paper at least 14." in page
        assert "4 labels by 2 workers" in page


@pytest.mark.django_db(transaction=True)
def test_two_bots_are_compared_on_the_page(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    study = make_study({"ann": 10, "bob": 10}, min_turns=2, max_turns=8)
    for n in range(8):
        dialogue = talked(study, [(True, True), (n % 4 < 2, False)])
        assert dialogue
    computed(study)

    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    assert "Differences between the bots" in page
    assert re.search(r"(Ann|Bob)( and (Ann|Bob) cannot be told apart| is ahead of (Ann|Bob))", page)


@pytest.mark.django_db(transaction=True)
def test_bots_of_the_same_title_stay_apart(make_study: MakeStudy) -> None:
    study = make_study({"ann": 10, "bob": 10}, min_turns=2, max_turns=8)
    study.study_bots.get(bot__name="bob").bot.__class__.objects.update(title="Same")
    for _ in range(2):
        talked(study, [(True, True)])

    result = computed(study).result

    assert [bot["bot"] for bot in result["bots"]] == ["Same (ann)", "Same (bob)"]
