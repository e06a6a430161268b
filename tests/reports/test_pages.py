"""The page of a report: charts as files, and a table for each comparison."""

import json
import re
from xml.etree import ElementTree

import pytest

from tests.conftest import MakeStudy, start_dialogue
from tests.planted import SignIn, computed, figures, talked
from turnwise.accounts.limits import limit_concurrency
from turnwise.accounts.models import User
from turnwise.charts.layout import DARK, LIGHT, Palette
from turnwise.dialogues.models import Fault
from turnwise.reports import services
from turnwise.reports import tasks as jobs
from turnwise.reports.models import Chart
from turnwise.studies.models import Study


@pytest.mark.django_db(transaction=True)
class TestOfAStudy:
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

    def test_a_pdf_is_drawn_once_and_one_at_a_time_for_each_person(
        self, reported: Study, sign_in: SignIn, rex: User
    ) -> None:
        client, address = sign_in(rex), f"/studies/{reported.pk}/report/scores.pdf"

        with limit_concurrency(1, "pdf", rex.pk):
            assert client.get(address).status_code == 429
        drawn = client.get(address)
        with limit_concurrency(1, "pdf", rex.pk):
            again = client.get(address)

        assert (drawn.status_code, again.content) == (200, drawn.content)

    @pytest.mark.parametrize("file", ["nothing.svg", "nothing.pdf", "scores.svg?scheme=pink"])
    def test_other_files_are_not_found(self, reported: Study, rex: User, sign_in: SignIn, file: str) -> None:
        assert sign_in(rex).get(f"/studies/{reported.pk}/report/{file}").status_code == 404

    def test_charts_of_older_reports_are_dropped(self, reported: Study) -> None:
        talked(reported, [(True, True)])
        newest = computed(reported)

        assert set(Chart.objects.values_list("report", flat=True)) == {newest.pk}
        assert figures(newest.study.reports.exclude(pk=newest.pk).get())["bots"]

    def test_a_new_report_is_rendered_before_its_first_reader_comes(
        self, reported: Study, rex: User, sign_in: SignIn
    ) -> None:
        report = services.queue_report(reported)
        jobs.build_report(report.pk)
        report.refresh_from_db()
        report.result = json.loads(json.dumps(report.result).replace("Scripty", "Changed afterwards"))
        report.save(update_fields=["result"])

        page = sign_in(rex).get(f"/studies/{reported.pk}/report/").content.decode()

        results = page.partition('<section id="results"')[2].partition("<table")[2].partition("</table>")[0]
        assert "Scripty" in results
        assert "Changed afterwards" not in results

    def test_the_page_has_every_part(self, reported: Study, rex: User, sign_in: SignIn) -> None:
        Fault.objects.create(
            dialogue=start_dialogue(reported), position=2, kind="BotLate", at="2026-01-01T00:00Z"
        )
        computed(reported)

        page = sign_in(rex).get(f"/studies/{reported.pk}/report/").content.decode()

        assert page.count("<svg xmlns") == 6  # each for a desktop and for a phone
        # Each has a name of its own, as its downloads have none.
        assert (
            len(set(re.findall(r'<figure class="chart" data-chart="[^"]+" aria-label="([^"]+)"', page))) == 3
        )
        assert "1 too late" in page
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

    assert "Differences between the systems" in page
    assert re.search(r"(Ann|Bob)( and (Ann|Bob) cannot be told apart| is ahead of (Ann|Bob))", page)
    assert _differences(page) == {"Differences": ["Sensibleness", "Specificity", "SSA"]}


@pytest.mark.django_db(transaction=True)
def test_three_bots_have_a_matrix_and_a_table_for_each_score(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study({"ann": 10, "bob": 10, "cid": 10}, min_turns=2, max_turns=8)
    for n in range(9):
        talked(study, [(True, True), (n % 4 < 2, False)])
    computed(study)

    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()
    tables = _differences(page)

    assert list(tables) == [f"Differences by {score}" for score in ("Sensibleness", "Specificity", "SSA")]
    for pairs in tables.values():
        assert sorted(" ".join(sorted(pair.split(" against "))) for pair in pairs) == [
            "Ann Bob",
            "Ann Cid",
            "Bob Cid",
        ]
    # One score is chosen, that of the headline; each has a matrix with every pair from both sides.
    assert re.findall(r'name="score-main" id="[^"]+"( checked)?>', page) == ["", "", " checked"]
    matrices = re.findall(r'<table class="matrix">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    assert len(matrices) == 3
    for cells in matrices:
        shown = re.findall(r"</i>([+\u2212]?[\d.]+)|\">([+\u2212]?[\d.]+)<", cells)
        values = sorted(float((one or other).replace("\u2212", "-")) for one, other in shown)
        assert len(values) == 6
        assert values == [-value for value in reversed(values)]


def _differences(page: str) -> dict[str, list[str]]:
    """By name of each table of differences, what its rows are about."""
    tables = re.findall(r'aria-label="(Differences[^"]*)">\s*<table.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    return {
        name: [re.sub(r"<[^>]+>", "", row) for row in re.findall(r'<th scope="row">(.*?)</th>', rows)]
        for name, rows in tables
    }


@pytest.mark.django_db(transaction=True)
def test_bots_with_the_same_title_are_not_merged(make_study: MakeStudy) -> None:
    study = make_study({"ann": 10, "bob": 10}, min_turns=2, max_turns=8)
    study.study_bots.get(bot__name="bob").bot.__class__.objects.update(title="Same")
    for _ in range(2):
        talked(study, [(True, True)])

    result = figures(computed(study))

    assert [bot["bot"] for bot in result["bots"]] == ["Same (ann)", "Same (bob)"]
