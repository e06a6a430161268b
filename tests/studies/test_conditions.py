"""Between-subject factors: reading, the form, assignment in balance, what people get, exports and report."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.formula.api as smf
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone
from pandas import DataFrame

from evaluation.report.bundles.recomputation import recompute
from evaluation.report.publishing.preregistration import as_markdown
from evaluation.report.publishing.registry_forms import as_predicted
from tests.conftest import MakeStudy, enter, session_cookie, start_dialogue, worker_of
from tests.planted import SignIn, add_exchange, add_label, bot_of, computed, figures
from tests.studies.test_presets import called
from tests.studies.test_scenarios import ROWS
from tests.studies.test_studies import FORM
from turnwise.accounts.models import User
from turnwise.bots.services import version_of
from turnwise.crowd.entry.enrolment import create_re_entry
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.crowd.models import Assignment, Participation
from turnwise.crowd.panels import Arrival
from turnwise.crowd.places.assignment import assign
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.services import begin
from turnwise.privacy.ethics.document import ethics_document
from turnwise.privacy.stored_data import stored_data_of
from turnwise.studies.conditions.factors import as_text, parse
from turnwise.studies.models import Study
from turnwise.studies.opening_checks import checks
from turnwise.studies.plans.preregistration import plan_of
from turnwise.studies.services import PROTOCOL_FIELDS, clone

TEXT = """# tone: formal
Write as to **an office**.

# tone: casual
Write as to a friend.

# length: short
-

# length: long
Write at length.
## A heading
"""
FACTORS = parse(TEXT).factors


def test_factors_are_read_and_written_alike() -> None:
    assert [(each["name"], [level["name"] for level in each["levels"]]) for each in FACTORS] == [
        ("tone", ["formal", "casual"]),
        ("length", ["short", "long"]),
    ]
    assert FACTORS[1]["levels"][1]["text"] == "Write at length.\n## A heading"
    assert FACTORS[1]["levels"][0]["text"] == ""
    restricted = parse(
        "# bot_kind: one\nbots: ann, bob\n-\n# bot_kind: two\n\nscenarios: buy\nGo on."
    ).factors
    assert restricted[0]["levels"][0]["bots"] == ["ann", "bob"]
    assert restricted[0]["levels"][1] == {
        "name": "two", "text": "Go on.", "bots": [], "scenarios": ["buy"],
    }  # fmt: skip
    for factors in (FACTORS, restricted):
        assert parse(as_text(factors)).factors == factors
    assert (parse(" \n").factors, parse(" \n").problems) == ([], [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# tone: formal\nHi", [(1, "The factor “tone” has one level. Add a second one, or remove")]),
        ("Hello\n# a: x\n-\n# a: y\n-", [(1, "stands before the first level. Write a line such as")]),
        ("# tone\n-\n# a: x\n-\n# a: y\n-", [(1, "“# tone” does not name a factor and a level. Write both")]),
        ("# a: x\n-\n# a: y\n-\n# a: X\n-", [(5, "“a: X” stands in line 1, too.")]),
        ("# a: x\n\n# a: y\n-", [(1, "“a: x” has no text. Write below it")]),
        ("# my tone: x\n-\n# a: x\n-\n# a: y\n-", [(1, "“my tone” cannot be a column of exports.")]),
        ("# bot: x\n-\n# bot: y\n-", [(1, "compares by “bot” in any case"), (3, "compares by “bot”")]),
        ("# a: x/y\n-\n# a: x\n-\n# a: y\n-", [(1, "The level “x/y” cannot be used.")]),
        (f"# a: x\n{'z' * 4001}\n# a: y\n-", [(2, "has 4,001 characters, more than 4,000. Correct it.")]),
        ("# a: x\nbots:\n-\n# a: y\n-", [(2, "“bots:” names none.")]),
        ("# a: x\nbots: b, b\n-\n# a: y\nbots: b\nbots: c\n-",
         [(2, "“b” stands twice in this line."), (6, "two lines “bots:”")]),
        ("".join(f"# {f}: {n}\n-\n" for f in "abcde" for n in "xy"), [(17, "5 factors, more than 4")]),
        ("".join(f"# a: {n}\n-\n" for n in range(13)), [(1, "has 13 levels, more than 12. Remove some.")]),
        ("".join(f"# {f}: {n}\n-\n" for f in "ab" for n in range(7)), [(1, "49 conditions, more than 48.")]),
        ("# a: x\nTea\x07\n# a: y\n-", [(2, "has a control character (U+0007). Remove it.")]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_line_and_nothing_is_taken(text: str, said: list[tuple[int, str]]) -> None:
    parsed = parse(text)

    assert parsed.factors == []
    assert [problem.line for problem in parsed.problems] == [line for line, _ in said]
    for problem, (_, words) in zip(parsed.problems, said, strict=True):
        assert words in problem.say


@pytest.mark.django_db
def test_the_form_and_the_api_take_factors_and_an_opened_study_keeps_them(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    bot, client = make_study().study_bots.get().bot, sign_in(rex)
    Study.objects.update(title="Another")
    form = FORM | {"bots-0-bot": str(bot.pk)}

    one_level = client.post("/studies/new/", form | {"factors": "# tone: formal\n-"})
    unknown = client.post("/studies/new/", form | {"factors": "# a: x\nbots: ann\n-\n# a: y\n-"})
    assert (one_level.status_code, unknown.status_code) == (422, 422)
    assert "Line 1: The factor “tone” has one level." in one_level.content.decode()
    assert "“a: x” names the bot “ann”, which the study does not have. It has: scripty." in (
        unknown.content.decode()
    )
    assert Study.objects.count() == 1

    assert client.post("/studies/new/", form | {"factors": TEXT.replace("\n", "\r\n")}).status_code == 302
    study = Study.objects.exclude(title="Another").get()
    page = client.get(f"/studies/{study.pk}/edit/").content.decode()
    assert study.factors == clone(study, owner=rex).factors == FACTORS
    assert "tone (formal, casual) × length (short, long)" in page  # noqa: RUF001  # as tables have it

    restricted = "# a: x\nbots: scripty\n-\n# a: y\nscenarios: buy\n-"
    sent = {"title": "By API", "factors": restricted, "bots": {"scripty": 9}}
    refused = called(rex, "POST", "/api/studies", sent)
    made = called(rex, "POST", "/api/studies", sent | {"factors": TEXT})
    judging = called(rex, "POST", "/api/studies", {"title": "J", "task": "judging", "factors": TEXT})
    assert (refused.status_code, made.status_code, judging.status_code) == (422, 201, 422)
    assert "“buy”, which is not in the study" in refused.content.decode()
    assert "leave out factors" in judging.content.decode()
    assert parse(made.json()["settings"]["factors"]).factors == FACTORS
    opened = make_study({"eve": 5}, factors=FACTORS)
    address = f"/api/studies/{opened.code}"
    assert called(rex, "PATCH", address, {"title": "Open"}).status_code == 200
    assert called(rex, "PATCH", address, {"factors": restricted}).status_code == 422
    opened.refresh_from_db()
    assert opened.factors == FACTORS


@pytest.mark.django_db
def test_levels_that_leave_no_bot_together_are_refused(make_study: MakeStudy) -> None:
    factors = parse("# a: x\nbots: ann\n-\n# a: y\n-\n# b: x\nbots: bob\n-\n# b: y\n-").factors

    with pytest.raises(ValidationError, match="No bot is left for people with a: x, b: x"):
        make_study({"ann": 5, "bob": 5}, factors=factors)


@pytest.mark.django_db
def test_a_copy_that_lacks_a_bot_of_a_level_cannot_open(make_study: MakeStudy, rex: User) -> None:
    factors = parse("# a: x\nbots: ann\n-\n# a: y\n-").factors
    study = make_study({"ann": 5, "bob": 5}, factors=factors)
    study.study_bots.get(bot__name="ann").bot.__class__.objects.filter(name="ann").update(active=False)

    design = next(each for each in checks(clone(study, owner=rex)) if each.title == "Design")

    assert not design.holds
    assert "“a: x” names the bot “ann”" in design.says


@pytest.mark.django_db(transaction=True)
def test_fifty_people_who_agree_at_once_fill_the_cells_in_balance(make_study: MakeStudy) -> None:
    study = make_study({"ann": 60, "bob": 60}, factors=FACTORS, scenarios=ROWS)

    def take_part(number: int) -> None:
        try:
            begin(assign(enter(study).pk))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(take_part, range(50)))

    people = Participation.objects.filter(study=study)
    cells = Counter(tuple(each.values()) for each in people.values_list("condition", flat=True))
    assert sorted(cells.values()) == [12, 12, 13, 13], cells
    dealt = Dialogue.objects.filter(study=study, seats__bot__isnull=False)
    by_bot = Counter[Any]()
    by_row = Counter[Any]()
    for dialogue in dealt.prefetch_related("seats__bot", "seats__assignment__participation"):
        person, row = dialogue.participation, dialogue.scenario
        assert person
        assert row
        condition = tuple(person.condition.values())
        by_bot[condition, bot_of(dialogue).name] += 1
        by_row[condition, bot_of(dialogue).name, row["name"]] += 1
    assert (len(by_bot), len(by_row)) == (8, 16)
    assert set(by_bot.values()) <= {6, 7}, by_bot
    assert set(by_row.values()) <= {3, 4}, by_row


@pytest.mark.django_db(transaction=True)
def test_people_who_never_began_are_replaced_and_those_who_come_again_keep_their_condition(
    make_study: MakeStudy,
) -> None:
    study = make_study(factors=FACTORS[:1], re_entry="up_to", re_entry_most=3)
    first = enter(study)
    second = enter(study)
    assert first.condition != second.condition

    Participation.objects.filter(pk=second.pk).update(consented_at=timezone.now() - timedelta(hours=2))
    assert enter(study).condition == second.condition

    Assignment.objects.filter(pk=assign(first.pk).pk).update(outcome="complete", ended_at=timezone.now())
    again = create_re_entry(Participation.objects.get(pk=first.pk), first.consent)
    assert (again.number, again.condition) == (2, first.condition)

    # A person of a panel who agrees again in another browser, before any work, replaces the participation.
    for number in range(8):
        arrival = Arrival("prolific", f"person-{number}")
        before = enter(study, arrival)
        after = enter(study, arrival)
        assert (before.pk != after.pk, after.condition) == (True, before.condition)


@pytest.mark.django_db(transaction=True)
def test_a_level_can_have_its_own_bots_and_scenarios(make_study: MakeStudy) -> None:
    factors = parse("# kind: one\nbots: ann\nscenarios: buy\n-\n# kind: two\nbots: bob\n-").factors
    study = make_study({"ann": 4, "bob": 9}, factors=factors, scenarios=ROWS)

    given = [start_dialogue(study) for _ in range(8)]

    seen = Counter(
        (each.participation.condition["kind"], bot_of(each).name, each.scenario["name"])
        for each in given
        if each.participation and each.scenario
    )
    assert seen == {("one", "ann", "buy"): 4, ("two", "bob", "buy"): 2, ("two", "bob", "ask"): 2}
    # All places with Ann are taken, so nobody is assigned to a condition in which no bot is left.
    assert enter(study).condition == {"kind": "two"}


@pytest.mark.django_db(transaction=True)
def test_people_read_the_texts_of_their_levels_and_no_names(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study(factors=FACTORS)
    dialogue = start_dialogue(study)
    person = dialogue.participation
    assert person
    Participation.objects.filter(pk=person.pk).update(condition={"tone": "formal", "length": "long"})
    browser = Client()
    browser.cookies[COOKIE] = session_cookie(worker_of(dialogue))

    pages = [
        browser.get(f"{study.get_entry_url()}{page}").content.decode() for page in ("chat/", "instructions/")
    ]
    stored = stored_data_of(Participation.objects.get(pk=person.pk))
    client = sign_in(rex)
    preview = f"/studies/{study.pk}/preview/"
    frames = [
        client.get(f"{preview}{page}/?condition={number}").content.decode()
        for number in (1, 3)
        for page in ("instructions", "work")
    ]
    controls = client.get(f"{preview}?page=instructions&condition=3").content.decode()
    document = ethics_document(study, rex)

    for page in pages:
        assert "Write as to <strong>an office</strong>." in page
        assert "Write at length." in page
        assert "friend" not in page
        assert "tone" not in page
    assert stored["you"]["further_instructions"] == [
        "Write as to **an office**.", "Write at length.\n## A heading",
    ]  # fmt: skip
    assert ["an office" in page for page in frames] == [True, True, False, False]
    assert ["a friend" in page for page in frames] == [False, False, True, True]
    # From casual and short, a click leads to formal and short, or to casual and long.
    assert [f"condition={number}" in controls for number in (1, 2, 4)] == [True, False, True]
    told = next(each for each in document.sections if each.title.startswith("Conditions"))
    assert [block.text for block in told.blocks][:2] == ["tone: formal", "Write as to an office."]


@pytest.mark.django_db
def test_the_plan_and_its_registration_name_factors_and_texts(make_study: MakeStudy) -> None:
    plan = plan_of(make_study(factors=FACTORS), PROTOCOL_FIELDS)

    written, registered = as_markdown(plan), as_predicted(plan).markdown()

    listed = "- factors:\n  - name: tone\n    - levels:\n      - bots: none; name: formal; text: Write as to"
    assert listed in written
    assert "all 4 combinations come equally often: tone (formal, casual); length (short, long)." in registered
    assert "Main effects and interactions of the factors" in registered


def label_all(study: Study, dialogue: Dialogue, *, sensible: list[bool]) -> None:
    for number, yes in enumerate(sensible):
        add_exchange(dialogue, version_of(bot_of(dialogue), {}), text="Well", latency=10)
        answers: dict[str, Any] = {"sensible": yes, **({"specific": number % 2 == 0} if yes else {})}
        add_label(dialogue, position=2 + 2 * number, answers=answers)
    Dialogue.objects.filter(pk=dialogue.pk).update(ending="complete", ended_at=dialogue.started_at, due_1=[])


@pytest.mark.django_db(transaction=True)
def test_the_report_compares_the_conditions_as_statsmodels_does_and_the_bundle_gives_the_same(
    make_study: MakeStudy, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = make_study({"ann": 20, "bob": 20}, min_turns=2, max_turns=8, factors=FACTORS[:1])
    rows = []
    for number in range(24):
        dialogue = start_dialogue(study)
        assert dialogue.participation
        tone = dialogue.participation.condition["tone"]
        sensible = [tone == "formal", tone == "formal" or number % 3 == 0, number % 5 > 1]
        label_all(study, dialogue, sensible=sensible)
        rows.append((tone, bot_of(dialogue).title, 100 * float(np.mean(sensible))))

    found = figures(computed(study))["conditions"]
    score = next(each for each in found["scores"] if each["title"] == "Sensibleness")
    data = DataFrame(rows, columns=["tone", "chatbot", "score"])
    fit = smf.ols("score ~ C(tone, Sum) * C(chatbot, Sum)", data).fit(cov_type="HC2")

    assert found["factors"] == [
        {
            "name": "tone",
            "levels": [{"name": "formal", "participants": 12}, {"name": "casual", "participants": 12}],
        }
    ]
    assert score["factors"] == ["tone", "chatbot"]
    of_cells = data.groupby(["tone", "chatbot"]).score.mean()
    means = {(each["factor"], each["level"]): each["value"] for each in score["means"]}
    assert means["tone", "formal"] == pytest.approx(of_cells["formal"].mean())
    tone = next(each for each in score["differences"] if each["factor"] == "tone")
    assert (tone["first"], tone["second"]) == ("casual", "formal")
    assert tone["value"] == pytest.approx(2 * fit.params["C(tone, Sum)[S.casual]"])
    statistic = float(fit.wald_test_terms(scalar=True).table.statistic["C(tone, Sum)"])
    effect = next(each for each in score["effects"] if list(each["factors"]) == ["tone"])
    assert effect["f"] == pytest.approx(statistic)
    (both,) = score["interactions"]
    crossed = fit.params["C(tone, Sum)[S.casual]:C(chatbot, Sum)[S.Ann]"]
    assert both["value"] == pytest.approx(4 * crossed, abs=1e-6)
    assert "Sensibleness is higher with tone formal than with casual, by" in " ".join(score["words"])

    client = sign_in(rex)
    page = client.get(f"/studies/{study.pk}/report/").content.decode()
    lines = b"".join(client.get(f"/studies/{study.pk}/turns.csv").streaming_content).decode().splitlines()
    records = b"".join(client.get(f"/studies/{study.pk}/turns.jsonl").streaming_content).decode()
    assert "<h3>Conditions</h3>" in page
    assert lines[0].endswith(",scenario,condition_tone")
    assert Counter(line.rpartition(",")[2] for line in lines[1:]) == {"formal": 36, "casual": 36}
    assert '"condition":{"tone":"formal"}' in records
    people = client.get(f"/studies/{study.pk}/participants/?condition=tone:formal").content.decode()
    assert people.count('data-label="Condition"') == 12
    listed = client.get(f"/studies/{study.pk}/dialogues/?condition=tone:casual").content.decode()
    assert listed.count("tone: casual</span>") == 12
    table = b"".join(client.get(f"/studies/{study.pk}/participants.csv").streaming_content).decode()
    assert table.splitlines()[0].endswith(",condition_tone")
    answered = called(rex, "GET", f"/api/studies/{study.code}/participants").json()["items"]
    assert Counter(each["condition"]["tone"] for each in answered) == {"formal": 12, "casual": 12}

    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    again = recompute(tmp_path / "bundle.zip")
    assert again.differences == []
    assert again.report["conditions"] == found
