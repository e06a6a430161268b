"""Interactive charts of a report: their numbers, and the links to their data."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from evaluation.files.writing import figure
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.charts.interactive_plots import plot
from turnwise.reports.page import drilldown_link
from turnwise.studies.models import Study


def nowhere(system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0) -> str:
    return ""


def marks_of(drawn: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All marks of systems of the study."""
    for panel in drawn["panels"]:
        for row in panel.get("rows", ()):
            yield from () if row["published"] else row["marks"]
        for line in panel.get("lines", ()):
            yield from line["points"]


@pytest.mark.django_db(transaction=True)
class TestOfAStudy:
    @pytest.fixture
    def reported(self, make_study: MakeStudy) -> Study:
        study = make_study({"ann": 9, "bob": 9}, min_turns=2, max_turns=8)
        Bot.objects.filter(name="bob").update(title="</script><b>Bob")
        for n in range(6):
            talked(study, [(True, n % 3 > 0), (n % 2 == 0, False), (True, True)][: 1 + n % 3 // 2 * 2])
        computed(study)
        return study

    def test_every_mark_of_scores_shows_a_cell_of_the_report(self, reported: Study) -> None:
        result = reported.reports.get().result
        assert result
        drawn = plot("scores", result, nowhere)
        assert drawn

        cells = [cell for bot in result["bots"] for cell in bot["cells"]]
        marks = list(marks_of(drawn))
        ends = [(mark["value"], mark.get("low"), mark.get("high")) for mark in marks]
        assert sorted(map(str, ends)) == sorted(
            str((cell["value"], cell.get("low"), cell.get("high"))) for cell in cells
        )
        for mark in marks:
            assert f" {figure(mark['value'])}\u00a0%" in mark["words"][1]
            assert ("low" in mark) == (f"({figure(mark.get('low', 0))} to " in mark["words"][1])

    def test_the_link_of_a_reply_lists_its_conversations(
        self, reported: Study, rex: User, sign_in: SignIn
    ) -> None:
        result, client = reported.reports.get().result, sign_in(rex)
        assert result
        drawn = plot("by-reply", result, drilldown_link(reported))
        assert drawn

        told = {(mark["href"], self.conversations_at(client, mark["href"])) for mark in marks_of(drawn)}

        # Whoever said a third reply said three: as many conversations as labels, one label for each reply.
        labels = {
            (bot["bot"], row["reply"]): row["labels"] for bot in result["by_reply"] for row in bot["replies"]
        }
        names = {"ann": "Ann", "bob": "</script><b>Bob"}
        found = {}
        for address, count in told:
            query = parse_qs(urlsplit(address).query)
            found[names[query["bot"][0]], int(query.get("replies", ["1"])[0])] = count
        assert found == labels
        assert {reply for _, reply in labels} == {1, 2, 3}

    def conversations_at(self, client: Client, address: str) -> int:
        page = client.get(address).content.decode()
        return len(re.findall(r'<th scope="row"><a class="nowrap"', page))

    def test_no_title_leaves_the_numbers_in_the_page(
        self, reported: Study, rex: User, sign_in: SignIn
    ) -> None:
        page = sign_in(rex).get(f"/studies/{reported.pk}/report/").content.decode()

        assert page.count('<script type="application/json">') == 3  # scores, plane and replies
        assert "<b>Bob" not in page
        assert "\\u003C/script\\u003E\\u003Cb\\u003EBob" in page
