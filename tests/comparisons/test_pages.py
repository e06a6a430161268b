"""The comparison's pages, through the client."""

import csv
import io
import re
from html import unescape
from itertools import takewhile
from xml.etree import ElementTree

import pytest
from django.test import Client

from tests.comparisons.conftest import BOTH, NO, SENSIBLE, judge_all, respond, talk
from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotVersion
from turnwise.bots.services import record_perplexity, version_of
from turnwise.charts.layout import DARK
from turnwise.judging.items import subjects
from turnwise.studies.models import Study

# Reports are computed and pages read in transactions of their own.
pytestmark = pytest.mark.django_db(transaction=True)

PICTURE = re.compile(r'<img src="([^"]+)" width="(\d+)" height="(\d+)" alt="([^"]+)"')

PLANTED = {"ann": [BOTH, BOTH], "bob": [BOTH, NO], "cat": [SENSIBLE, NO], "dan": [BOTH, SENSIBLE]}
HUMAN = {"ann": [True, True], "bob": [True, False], "cat": [False, False], "dan": [True, True]}


@pytest.fixture
def first(make_study: MakeStudy) -> Study:
    study = make_study({"ann": 9, "bob": 9}, title="First", min_turns=2, max_turns=8)
    for _ in range(4):
        talk(study, PLANTED)
    return study


@pytest.fixture
def second(make_study: MakeStudy) -> Study:
    study = make_study({"ann": 9}, title="Second", min_turns=4, max_turns=8, languages=["en", "de"])
    talk(study, {"ann": [SENSIBLE, SENSIBLE]})
    return study


@pytest.fixture
def of_four(make_study: MakeStudy) -> Study:
    study = make_study(dict.fromkeys(PLANTED, 9), title="Four", min_turns=2, max_turns=8)
    for _ in range(8):
        talk(study, PLANTED)
    for value, version in enumerate(BotVersion.objects.order_by("bot__name"), 1):
        record_perplexity(version, perplexity=10.0 * value, data="test set", tokenizer="8K", by=study.owner)
    return study


def page_of(client: Client, address: str, status: int = 200) -> str:
    response = client.get(address)
    assert response.status_code == status
    return " ".join(response.content.decode().split())


def cells_of(page: str, row: str) -> list[str]:
    """The strong numbers of the first table row that begins so."""
    return re.findall(r"<strong>([-\u2212\d.]+)</strong>", page.split(row, 1)[1].split("</tr>", 1)[0])


class TestSideBySide:
    def test_every_bot_of_each_study_stands_beside_the_others(
        self, first: Study, second: Study, rex: User, sign_in: SignIn
    ) -> None:
        report = computed(first)
        computed(second)

        page = page_of(sign_in(rex), f"/compare/?study={first.pk}&study={second.pk}")

        # Sensible, specific, SSA: Ann 2 of 2 and 2 of 2; Bob 1 and 1 of 2; Ann of Second 2 and 0 of 2.
        assert cells_of(page, 'Ann<br><span class="small soft compared__study">First') == [
            "100.0",
            "100.0",
            "100.0",
        ]
        assert cells_of(page, 'Bob<br><span class="small soft compared__study">First') == [
            "50.0",
            "50.0",
            "50.0",
        ]
        assert cells_of(page, 'Ann<br><span class="small soft compared__study">Second') == [
            "100.0",
            "0.0",
            "50.0",
        ]
        assert re.search(r"SSA: Ann in First 100 percent\b[^;]*; Bob in First 50 percent", page)
        assert f"report {report.pk}, computed {report.finished_at:%Y-%m-%d %H:%M} UTC" in page
        assert "SSA of Ann in Second: All labels are of one conversation and one worker" in page

    def test_differences_of_protocol_are_listed(
        self, first: Study, second: Study, rex: User, sign_in: SignIn
    ) -> None:
        page = page_of(sign_in(rex), f"/compare/?study={first.pk}&study={second.pk}")

        assert "<strong>2 to 8</strong> in “First”" in page
        assert "<strong>4 to 8</strong> in “Second”" in page
        assert "<dt>Languages</dt>" in page
        assert "<dt>Opening</dt>" not in page

    def test_a_judging_study_has_raters_and_no_turns(
        self, first: Study, make_queue: MakeQueue, rex: User, sign_in: SignIn
    ) -> None:
        three, five = make_queue(1, raters=3, title="Three"), make_queue(1, raters=5, title="Five")

        page = page_of(sign_in(rex), f"/compare/?study={first.pk}&study={three.pk}&study={five.pk}")

        assert "<strong>3 for each item</strong> in “Three”" in page
        assert "<dt>Turns</dt>" not in page

    def test_a_study_in_which_people_write_has_no_scores_to_compare(
        self, first: Study, rex: User, sign_in: SignIn
    ) -> None:
        Study.objects.create(title="Novel", languages=["en"], owner=rex, task="writing", state="open")

        page = page_of(sign_in(rex), "/compare/")

        assert "First" in page
        assert "Novel" not in page

    def test_the_page_says_that_studies_have_equal_protocols(
        self, first: Study, make_study: MakeStudy, rex: User, sign_in: SignIn
    ) -> None:
        other = make_study({"cat": 1}, title="Other", min_turns=2, max_turns=8)

        page = page_of(sign_in(rex), f"/compare/?study={first.pk}&study={other.pk}")

        assert "the studies are alike" in page

    def test_stored_results_are_shown_and_newer_ones_are_announced(
        self, first: Study, second: Study, rex: User, sign_in: SignIn
    ) -> None:
        computed(first)
        talk(first, {"ann": [NO], "bob": [NO]})

        page = page_of(sign_in(rex), f"/compare/?study={first.pk}&study={second.pk}")

        assert "Results have changed since" in page
        assert cells_of(page, 'Bob<br><span class="small soft compared__study">First') == [
            "50.0",
            "50.0",
            "50.0",
        ]
        assert "Second</a>: no report is ready yet" in page

    def test_other_questions_have_a_table_of_their_own(
        self, first: Study, make_study: MakeStudy, rex: User, sign_in: SignIn
    ) -> None:
        human = make_study({"ann": 9}, title="Human", question_set="human-likeness", min_turns=2)
        talk(human, {"ann": [True, False]})
        computed(first)
        computed(human)

        page = page_of(sign_in(rex), f"/compare/?study={first.pk}&study={human.pk}")

        assert page.count("<picture>") == 2
        assert cells_of(page, 'Ann<br><span class="small soft compared__study">Human') == ["50.0"]
        assert "<dt>Questions</dt>" in page

    def test_the_file_has_a_row_for_each_score(
        self, first: Study, second: Study, rex: User, sign_in: SignIn
    ) -> None:
        Study.objects.filter(pk=first.pk).update(title="=First")
        report = computed(first)
        computed(second)

        response = sign_in(rex).get(f"/compare/studies.csv?study={first.pk}&study={second.pk}")

        rows = list(csv.DictReader(io.StringIO(response.content.decode())))
        assert len(rows) == 9
        assert rows[5] | {"computed_at": "", "low": "", "high": ""} == {
            "study": "'=First", "study_code": first.code, "bot": "Bob", "score": "ssa", "title": "SSA",
            "percent": "true", "value": "50.0", "low": "", "high": "",
            "no_interval_because": rows[5]["no_interval_because"],
            "conversations": "2", "labelled_replies": "4", "labels": "4", "workers": "2",
            "report": str(report.pk), "computed_at": "",
            "covers_results_version": str(report.results_version),
            "newest_results_version": str(report.results_version),
            "question_set": "ssa", "ask": "0", "about": "partner_turn", "level": "0.95",
        }  # fmt: skip
        assert rows[5]["no_interval_because"] or float(rows[5]["low"]) < 50 < float(rows[5]["high"])

    def test_the_page_with_one_study_or_none_says_what_to_do(
        self, first: Study, rex: User, sign_in: SignIn
    ) -> None:
        client = sign_in(rex)

        assert "Tick two or more" in page_of(client, "/compare/")
        assert "Only one study is chosen" in page_of(client, f"/compare/?study={first.pk}")

    def test_a_study_that_is_not_there_is_refused(self, first: Study, rex: User, sign_in: SignIn) -> None:
        client = sign_in(rex)
        refused = {"x": "“x” is not the number of a study", "0": "no study 0 that you can see",
                   "9" * 30: "Choose from the list", "<b>": "“&lt;b&gt;” is not"}  # fmt: skip

        for address in ("", "perplexity/", "human-likeness/"):
            for study, why in refused.items():
                assert why in page_of(client, f"/compare/{address}?study={study}", status=422), (
                    address,
                    study,
                )

    def test_studies_of_others_cannot_be_chosen(self, first: Study, mallory: User, sign_in: SignIn) -> None:
        client = sign_in(mallory)

        assert "There are no studies to compare yet" in page_of(client, "/compare/")
        assert "First" not in page_of(client, f"/compare/?study={first.pk}", status=422)
        assert client.get(f"/compare/studies.csv?study={first.pk}").status_code == 422

    def test_comparisons_are_rate_limited(self, first: Study, rex: User, sign_in: SignIn) -> None:
        client = sign_in(rex)

        # A minute may begin in between, so that the count starts anew once.
        statuses = (client.get("/compare/").status_code for _ in range(122))

        served = len(list(takewhile(lambda status: status == 200, statuses)))
        assert 60 <= served <= 120


class TestOverTime:
    def test_versions_and_studies_stand_in_order_of_time(
        self, first: Study, second: Study, rex: User, sign_in: SignIn
    ) -> None:
        talk(second, {"ann": [BOTH, BOTH]}, details={"release": 2})
        versions = list(BotVersion.objects.filter(bot__name="ann").order_by("pk"))

        page = page_of(sign_in(rex), "/bots/ann/history/")

        rows = re.findall(
            r'<th scope="row">(\d)&ensp;<span class="mono">(v\d+ · \w{7})</span><br><a[^>]*>(\w+)', page
        )
        old, new = (version.name for version in versions)
        assert rows == [("1", old, "First"), ("2", old, "Second"), ("3", new, "Second")]
        # SSA first: all of First; sensible only in Second; all of the newer version.
        ssa = [cells_of(page, f'<th scope="row">{n}&ensp;')[0] for n in (1, 2, 3)]
        assert ssa == ["100.0", "50.0", "100.0"]
        assert page.count('aria-label="Transcript ') == 2 + 1 + 1
        assert "<dt>Turns</dt>" in page

    def test_a_bot_without_conversations_has_an_empty_page(
        self, make_study: MakeStudy, rex: User, sign_in: SignIn
    ) -> None:
        make_study({"eve": 1})

        page = page_of(sign_in(rex), "/bots/eve/history/")

        assert "No scores yet." in page
        assert "No version has been seen yet" in page

    def test_scores_of_others_studies_are_not_shown(
        self, first: Study, mallory: User, ada: User, sign_in: SignIn
    ) -> None:
        own = Study.objects.create(title="Mallory's", owner=mallory, state=Study.State.OPEN)
        own.study_bots.create(bot=Bot.objects.get(name="ann"))

        page = page_of(sign_in(mallory), "/bots/ann/history/")

        assert "No scores yet." in page
        assert "First" not in page
        assert sign_in(mallory).get("/bots/bob/history/").status_code == 404
        assert "First" in page_of(sign_in(ada), "/bots/bob/history/")

    def test_a_perplexity_is_entered_on_the_page(self, first: Study, rex: User, sign_in: SignIn) -> None:
        version = BotVersion.objects.get(bot__name="ann")
        address = f"/bots/ann/versions/{version.pk}/perplexity/"
        given = {
            f"{version.pk}-perplexity": "31.77",
            f"{version.pk}-measured_on": "our <test> set",
            f"{version.pk}-tokenizer": "BPE",
        }

        response = sign_in(rex).post(address, given, follow=True)

        page = " ".join(response.content.decode().split())
        assert "<strong>31.77</strong> on our &lt;test&gt; set; tokenizer: BPE." in page
        assert "Entered by rex" in page

    def test_an_impossible_perplexity_is_refused_with_a_reason(
        self, first: Study, rex: User, sign_in: SignIn
    ) -> None:
        client, version = sign_in(rex), BotVersion.objects.get(bot__name="ann")

        for perplexity, data, why in (
            ("0.5", "set", "0.5 is not a perplexity"), ("nan", "set", "Enter a number"),
            ("20", "", "on which held-out"),
            ("1e300", "set", "is not a perplexity"), ("20", "x" * 301, "at most 300"),
        ):  # fmt: skip
            given = {f"{version.pk}-perplexity": perplexity, f"{version.pk}-measured_on": data}
            response = client.post(f"/bots/ann/versions/{version.pk}/perplexity/", given)
            assert response.status_code == 422, why
            assert why in response.content.decode()
            version.refresh_from_db()
            assert version.perplexity is None, why

    def test_a_reported_perplexity_is_shown_as_such_and_stays(
        self, first: Study, rex: User, sign_in: SignIn
    ) -> None:
        told = {"perplexity": 31.77, "data": "held-out pairs", "tokenizer": "BPE"}
        version = version_of(Bot.objects.get(name="ann"), {"perplexity": told})
        given = {f"{version.pk}-perplexity": "20", f"{version.pk}-measured_on": "set"}
        client = sign_in(rex)

        page = page_of(client, "/bots/ann/history/")
        refused = client.post(f"/bots/ann/versions/{version.pk}/perplexity/", given)

        assert "<strong>31.77</strong> on held-out pairs; tokenizer: BPE." in page
        assert "Reported by the bot." in page
        assert page.count("Enter its perplexity") == 1  # that of the other version
        assert "reports the perplexity of this version itself" in refused.content.decode()

    def test_a_perplexity_outlives_the_account_that_entered_it(
        self, first: Study, ada: User, rex: User, sign_in: SignIn
    ) -> None:
        version = BotVersion.objects.get(bot__name="ann")
        record_perplexity(version, perplexity=20, data="set", tokenizer="", by=ada)
        ada.delete()

        page = page_of(sign_in(rex), "/bots/ann/history/")

        assert "Entered by somebody whose account is gone." in page
        assert "Change its perplexity" in page

    def test_other_users_cannot_enter_a_perplexity(
        self, first: Study, mallory: User, rex: User, sign_in: SignIn
    ) -> None:
        version = BotVersion.objects.get(bot__name="ann")
        given = {f"{version.pk}-perplexity": "20", f"{version.pk}-measured_on": "set"}
        address = f"/bots/ann/versions/{version.pk}/perplexity/"

        assert sign_in(mallory).post(address, given).status_code == 404
        assert sign_in(rex).post(address.replace("ann", "bob"), given).status_code == 404
        assert sign_in(rex).get(address).status_code == 405
        version.refresh_from_db()
        assert version.perplexity is None


class TestAgainstPerplexity:
    def test_points_line_and_correlations(self, of_four: Study, rex: User, sign_in: SignIn) -> None:
        page = page_of(sign_in(rex), "/compare/perplexity/")

        # Perplexity 10 20 30 40; SSA: Ann 100, Bob 50, Cat 25, Dan 75.
        # Sxx = 500; Sxy = -15*37.5 + -5*-12.5 + 5*-37.5 + 15*12.5 = -500; slope -1; Syy = 3125.
        # R² = 500² / (500 * 3125) = 0.16; r = -0.4. Ranks 4 2 1 3: rho = 1 - 6*14/60 = -0.4;
        # tau: 4 of 6 pairs discordant = -1/3.
        section = page.split("<h2>SSA</h2>")[1].split("<h2>")[0]
        assert "SSA falls by <strong>1.00</strong> points for each unit of perplexity" in section
        table = page.split("<h2>Lines and correlations</h2>")[1]
        assert cells_of(table, "R² of the line")[0] == "0.16"
        assert cells_of(table, "Slope")[0] == "\N{MINUS SIGN}1.00"
        assert cells_of(table, "Pearson")[0] == "\N{MINUS SIGN}0.40"
        assert cells_of(table, "Spearman")[0] == "\N{MINUS SIGN}0.40"
        assert cells_of(table, "Kendall")[0] == "\N{MINUS SIGN}0.33"
        assert "0.93 interactive" in table
        assert page.count("<picture>") == 3
        assert cells_of(page, ">Cat</a></th>") == ["30.00", "25.0", "50.0", "0.0"]
        assert "belong to different" not in page

    def test_perplexities_of_different_data_are_warned_of(
        self, of_four: Study, rex: User, sign_in: SignIn
    ) -> None:
        version = BotVersion.objects.get(bot__name="ann")
        record_perplexity(version, perplexity=12, data="other set", tokenizer="", by=rex)

        page = page_of(sign_in(rex), "/compare/perplexity/")

        assert "different data: Ann: “other set”; Bob, Cat, Dan: “test set”" in page
        assert "different tokenizers: Ann: not known; Bob, Cat, Dan: “8K”" in page

    def test_a_version_without_perplexity_is_listed_as_left_out(
        self, first: Study, rex: User, sign_in: SignIn
    ) -> None:
        page = page_of(sign_in(rex), "/compare/perplexity/")

        assert "There are no points to show yet" in page
        assert '<a href="/bots/ann/history/">Ann</a>: no perplexity is recorded.' in page

    def test_two_points_have_no_line(self, first: Study, rex: User, sign_in: SignIn) -> None:
        for version in BotVersion.objects.all():
            record_perplexity(version, perplexity=10.0 + version.pk, data="set", tokenizer="8K", by=rex)

        page = page_of(sign_in(rex), "/compare/perplexity/")

        assert "No line and no correlation: 2 points; a relation needs at least 3." in page
        assert page.count("<picture>") == 3

    def test_the_published_model_is_shown_on_request(
        self, of_four: Study, rex: User, sign_in: SignIn
    ) -> None:
        client = sign_in(rex)

        assert "Meena (base), paper" not in page_of(client, "/compare/perplexity/")
        page = page_of(client, "/compare/perplexity/?published=yes")
        told = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        assert told.count("Meena (base), paper") == 4  # in the words of three charts, and below them
        assert cells_of(page, "R² of the line")[0] == "0.16"

    def test_labels_of_other_studies_do_not_count(
        self, of_four: Study, second: Study, rex: User, sign_in: SignIn
    ) -> None:
        client = sign_in(rex)

        # Second adds two labels to Ann's four: 6 of 6 sensible, 4 of 6 specific.
        assert cells_of(page_of(client, "/compare/perplexity/"), ">Ann</a></th>")[1] == "83.3"
        alone = page_of(client, f"/compare/perplexity/?study={of_four.pk}")
        assert cells_of(alone, ">Ann</a></th>")[1] == "100.0"

    def test_new_conversations_are_seen_at_once(self, of_four: Study, rex: User, sign_in: SignIn) -> None:
        client = sign_in(rex)
        assert cells_of(page_of(client, "/compare/perplexity/"), ">Ann</a></th>")[1] == "100.0"

        for _ in range(4):
            talk(of_four, {bot: [NO, NO] for bot in PLANTED})

        assert cells_of(page_of(client, "/compare/perplexity/"), ">Ann</a></th>")[1] == "66.7"


class TestAgainstHumanLikeness:
    @pytest.fixture
    def human(self, make_study: MakeStudy) -> Study:
        targets = dict.fromkeys(("ann", "bob", "cat", "eve"), 9)
        study = make_study(targets, title="Human", question_set="human-likeness", min_turns=2, max_turns=8)
        for _ in range(8):
            talk(study, HUMAN | {"eve": [True, False]})
        return study

    def test_bots_of_both_kinds_of_study_are_points(
        self, of_four: Study, human: Study, rex: User, sign_in: SignIn
    ) -> None:
        page = page_of(sign_in(rex), "/compare/human-likeness/")

        # Human-likeness: Ann 100, Bob 50, Cat 0; SSA 100, 50, 25: Sxx = 5000, Sxy = 3750, slope 0.75.
        # Syy = 2916.67; R² = 3750² / (5000 * 2916.67) = 0.96.
        assert "SSA rises by <strong>0.75</strong> points for each point of human-likeness" in page
        assert cells_of(page, "R² of the line")[0] == "0.96"
        assert cells_of(page, ">Bob</a></th>") == ["50.0", "50.0", "50.0", "50.0"]
        assert "Dan</a>: it has no labels of human-likeness in these studies." in page
        assert "Eve</a>: it has no labels of sensibleness and specificity in these studies." in page
        assert "<dt>Questions</dt>" not in page

    def test_versions_of_a_bot_are_points_on_request(
        self, of_four: Study, human: Study, rex: User, sign_in: SignIn
    ) -> None:
        for study, planted in ((of_four, PLANTED), (human, HUMAN | {"eve": [True]})):
            for _ in range(4):
                talk(study, planted, details={"release": 2})

        page = page_of(sign_in(rex), "/compare/human-likeness/?by=version")

        assert len(re.findall(r">Ann v\d+ · \w{7}</a></th>", page)) == 2
        assert ">Ann</a></th>" in page_of(sign_in(rex), "/compare/human-likeness/")

    def test_judged_responses_are_points_and_a_warning_says_if_they_are_mixed_with_conversations(
        self, of_four: Study, make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun,
        rex: User, sign_in: SignIn,
    ) -> None:  # fmt: skip
        contexts, ann = make_contexts(2), Bot.objects.get(name="ann")
        asked = {"ssa": {"sensible": True, "specific": False}, "human-likeness": {"human_like": True}}
        studies = [make_queue(raters=1, title=key, question_set=key) for key in asked]
        runs = respond(contexts, ann), make_run(contexts, "People")
        for study in studies:
            for run in runs:
                subjects.add_responses(study, run)
            systems, keys = (ann.title, "People"), ("c1", "c2")
            judge_all(study, {(s, key): [asked[study.question_set]] for s in systems for key in keys})
        client = sign_in(rex)

        static = page_of(client, "/compare/human-likeness/?" + "&".join(f"study={s.pk}" for s in studies))
        mixed = page_of(client, "/compare/human-likeness/")

        # Human-like 100 %; SSA 50, all sensible, none specific.
        assert cells_of(static, ">Ann</a></th>") == ["100.0", "50.0", "100.0", "0.0"]
        assert cells_of(static, "&ensp;People</th>") == ["100.0", "50.0", "100.0", "0.0"]
        assert "count together" not in static
        assert "labels from conversations and judgments of responses count together" in mixed
        # 4 replies, all both, and 2 responses, only sensible: specific 4 of 6.
        assert cells_of(mixed, ">Ann</a></th>") == ["100.0", "83.3", "100.0", "66.7"]
        assert "People: it is not a bot, so it has no perplexity." in page_of(client, "/compare/perplexity/")
        over_time = page_of(client, "/bots/ann/history/")
        assert "All items of ssa" in over_time
        assert "All items of human-likeness" not in over_time

    def test_without_pairs_the_page_says_what_is_needed(
        self, of_four: Study, rex: User, sign_in: SignIn
    ) -> None:
        page = page_of(sign_in(rex), "/compare/human-likeness/")

        assert "one that asks for human-likeness" in page
        assert "There are no points to show yet" in page


CHARTS = {
    "/compare/?": "/compare/studies/studies-1",
    "/compare/perplexity/?": "/compare/perplexity/relation-ssa",
    "/bots/ann/history/?": "/bots/ann/history/history",
}


class TestFiles:
    """Charts as files and as pictures, whose places pages keep before the charts are there."""

    def test_charts_are_files_in_fixed_colours_and_pages_keep_places_of_their_sizes(
        self, of_four: Study, rex: User, mallory: User, sign_in: SignIn
    ) -> None:
        computed(of_four)
        client, stranger = sign_in(rex), sign_in(mallory)
        query = f"study={of_four.pk}&scheme=dark"

        for page, address in CHARTS.items():
            keeps_places_for_charts(client, f"{page}study={of_four.pk}")
            svg = client.get(f"{address}.svg?{query}")
            text = svg.content.decode()
            assert svg["Content-Type"] == "image/svg+xml"
            assert ElementTree.fromstring(text)[0].get("fill") == DARK.surface
            assert "var(" not in text
            assert svg["Content-Disposition"].endswith('-dark.svg"')
            assert client.get(f"{address}.pdf?{query}").content.startswith(b"%PDF-")
            assert stranger.get(f"{address}.svg?{query}").status_code == 404
            assert Client().get(f"{address}.svg").headers["Location"].startswith("/sign-in/")
        for other in ("/compare/studies/other.svg", "/compare/perplexity/relation-ssa.svg?scheme=pink",
                      "/bots/ann/history/other.pdf", "/compare/other/studies-1.svg"):  # fmt: skip
            assert client.get(other).status_code == 404, other

    def test_names_are_drawn_as_they_are(self, first: Study, rex: User, sign_in: SignIn) -> None:
        Bot.objects.filter(name="ann").update(title="<script>$x$ & so on")
        computed(first)

        page = page_of(sign_in(rex), f"/compare/?study={first.pk}")

        assert "<script>$x$" not in page
        assert page.count("&lt;script&gt;$x$ &amp; so on") >= 2

    def test_another_chart_has_another_address(self, first: Study, rex: User, sign_in: SignIn) -> None:
        client = sign_in(rex)
        sources = [
            source for _ in range(2) for source, *_ in PICTURE.findall(page_of(client, "/bots/ann/history/"))
        ]
        for _ in range(4):
            talk(first, PLANTED)

        page = page_of(client, "/bots/ann/history/")

        assert sources[0] == sources[1] != PICTURE.findall(page)[0][0]


def keeps_places_for_charts(client: Client, address: str) -> None:
    """The place that a page keeps for a chart is as large as the chart."""
    page = client.get(address).content.decode()
    pictures = PICTURE.findall(page)

    assert pictures
    assert "<svg xmlns" not in page
    for source, width, height, words in pictures:
        picture = client.get(unescape(source))
        drawn = ElementTree.fromstring(picture.content)
        assert drawn.attrib["aria-label"] == unescape(words)
        across, down = map(float, drawn.attrib["viewBox"].split()[2:])
        assert (int(width), int(height)) == pytest.approx((1.35 * across, 1.35 * down), abs=1)
        assert picture["Cache-Control"] == "private, max-age=3600"
