"""Opening: bots are greeted, and where none answers nobody is admitted and everybody is told."""

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from tests.conftest import MakeQueue, MakeStudy
from tests.planted import SignIn
from turnwise.accounts.limits import limit_concurrency
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.crowd.models import Participation
from turnwise.live.markdown import as_html
from turnwise.studies.consent import DECEPTION, TEMPLATE, TEMPLATES, ConsentTemplate, unfilled_placeholders
from turnwise.studies.models import Study
from turnwise.studies.opening_checks import checks, first_obstacle
from turnwise.studies.services import save_study, set_state

pytestmark = pytest.mark.django_db(transaction=True)

DOWN = {"replies": ["Hm."], "fail_on": [1]}


@pytest.fixture(autouse=True)
def _no_bot_outlives_its_test() -> Iterator[None]:
    yield
    resident_bots.close()


@pytest.fixture
def draft(make_study: MakeStudy) -> Study:
    """With a bot that answers and one that fails."""
    study = make_study({"well": 3})
    down = register_bot(name="down", title="Down", adapter="scripted", configuration=DOWN)
    save_study(
        study,
        owner=study.owner,
        consent_text="You talk to a machine, and say how it answers.",
        targets={down: 3, Bot.objects.get(name="well"): 3},
    )
    Study.objects.filter(pk=study.pk).update(state="draft")
    return Study.objects.get(pk=study.pk)


def test_the_opening_page_shows_which_bots_answer_and_how_quickly(
    draft: Study, rex: User, sign_in: SignIn
) -> None:
    client, address = sign_in(rex), f"/studies/{draft.pk}/opening/"

    before, after = (
        client.get(address).content.decode(),
        client.post(address, {"greet": "yes"}).content.decode(),
    )

    assert "Answered in" not in before
    assert "Each bot is sent one short greeting" in before
    assert after.count("Answered in 0.") == 1
    assert after.count("No answer after 0.") == 1
    assert "“Go on.”" in after
    assert "PlannedFailureError" in after


def test_opening_names_the_bots_that_do_not_answer(draft: Study, rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).post(f"/studies/{draft.pk}/state/", {"state": "open"}, follow=True).content.decode()

    assert Study.objects.get().state == "open"
    assert "Down does not answer, so no worker gets it:" in page
    assert "Well does not answer" not in page


def test_a_study_whose_bots_are_all_down_is_not_opened(draft: Study, rex: User, sign_in: SignIn) -> None:
    draft.study_bots.filter(bot__name="well").delete()

    page = sign_in(rex).post(f"/studies/{draft.pk}/state/", {"state": "open"}, follow=True).content.decode()

    assert Study.objects.get().state == "draft"
    assert "None of its bots answers, so nobody could be admitted" in page


def test_if_all_bots_fail_worker_and_researcher_get_an_explanation(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, sign_in: SignIn, settings: Settings
) -> None:
    study, queue = make_study(), make_queue(1)
    assert "I have read this" in Client().get(f"/s/{study.code}/").content.decode()
    settings.BOTS_HERE = frozenset()  # and no other process hosts any

    worker = Client().get(f"/s/{study.code}/")

    assert worker.status_code == 503
    assert "None of the chatbots is running at the moment" in worker.content.decode()
    assert "I have read this" not in worker.content.decode()
    consent = {"agree": "yes", "consent": "1"}
    assert Client().post(f"/s/{study.code}/consent/", consent).status_code == 503
    assert not Participation.objects.exists()
    assert Client().get(f"/s/{queue.code}/").status_code == 200  # judging needs no bot
    home = sign_in(rex).get("/home/").content.decode()
    assert "No bot answers, so nobody new is admitted: Scripty." in home
    assert (
        "No bot answers, so nobody new is admitted"
        in sign_in(rex).get(f"/studies/{study.pk}/").content.decode()
    )


def test_the_checks_read_the_newest_consent_text_once(draft: Study) -> None:
    with CaptureQueriesContext(connection) as asked:
        checks(draft)

    assert sum("studies_consentversion" in each["sql"] for each in asked) == 1


def test_missing_parts_are_named_before_bots_are_greeted(rex: User, sign_in: SignIn) -> None:
    study = save_study(Study(title="New", languages=["en"]), owner=rex, consent_text="", targets={})

    told = {check.title: check for check in checks(study)}

    assert not told["Design"].holds
    assert "Choose at least one active bot" in told["Design"].says
    assert not told["Consent"].holds
    page = sign_in(rex).post(f"/studies/{study.pk}/state/", {"state": "open"}, follow=True).content.decode()
    assert "Choose at least one active bot" in page
    assert Study.objects.get().state == "draft"


def test_a_consent_text_with_unfilled_placeholders_opens_no_study(
    draft: Study, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    assert "[your institution]" in client.get("/studies/new/?task=conversation").content.decode()
    targets = {each.bot: each.target for each in draft.study_bots.all()}
    begun = TEMPLATE.replace("[your institution]", "Our University")
    save_study(draft, owner=rex, consent_text=begun, targets=targets)

    page = client.post(f"/studies/{draft.pk}/state/", {"state": "open"}, follow=True).content.decode()

    assert "The consent text still says [what people do, in a few words], [number], [your purpose]" in page
    assert Study.objects.get(pk=draft.pk).state == "draft"
    assert not {check.title: check for check in checks(draft)}["Consent"].holds
    for place in unfilled_placeholders(begun):
        begun = begun.replace(place, "so it is [1]")  # other brackets are the researcher's own
    save_study(draft, owner=rex, consent_text=begun, targets=targets)
    client.post(f"/studies/{draft.pk}/state/", {"state": "open"})
    assert Study.objects.get(pk=draft.pk).state == "open"


@pytest.mark.parametrize("begun", TEMPLATES, ids=lambda each: each.key)
def test_every_consent_template_is_refused_until_filled_in(
    begun: ConsentTemplate, draft: Study, rex: User, sign_in: SignIn
) -> None:
    targets = {each.bot: each.target for each in draft.study_bots.all()}
    said = re.findall(r"\[[^\]]+\]", begun.text)
    save_study(draft, owner=rex, consent_text=begun.text, targets=targets)

    told = {check.title: check for check in checks(draft)}["Consent"]

    assert said
    assert not told.holds
    assert all(place in told.says for place in said)
    filled = re.sub(r"\[[^\]]+\]", "X", begun.text)
    save_study(draft, owner=rex, consent_text=filled, targets=targets)
    assert first_obstacle(draft) is None
    assert as_html(filled)


def test_a_debriefing_must_be_filled_in_before_the_study_opens(
    draft: Study, rex: User, sign_in: SignIn
) -> None:
    Study.objects.filter(pk=draft.pk).update(debriefing=DECEPTION.debriefing)

    page = sign_in(rex).post(f"/studies/{draft.pk}/state/", {"state": "open"}, follow=True).text

    assert "The debriefing still says [what was kept from people" in page
    assert Study.objects.get(pk=draft.pk).state == "draft"


def test_missing_parts_are_shown_in_place_of_the_opening_button(
    draft: Study, rex: User, sign_in: SignIn
) -> None:
    client, opens = sign_in(rex), "Open the study"
    targets = {each.bot: each.target for each in draft.study_bots.all()}
    pages = [f"/studies/{draft.pk}/", f"/studies/{draft.pk}/opening/"]

    def read() -> list[str]:
        return [client.get(page).content.decode() for page in pages]

    overview, opening = read()
    assert opens in overview
    assert opens in opening

    save_study(draft, owner=rex, consent_text=TEMPLATE, targets=targets)
    overview, opening = read()
    assert f"{opens}</button>" not in overview + opening
    assert (
        f'href="/studies/{draft.pk}/edit/#id_consent_text">Fill in the [brackets] of the consent text</a>'
        in opening
    )
    assert 'id="id_consent_text"' in client.get(f"/studies/{draft.pk}/edit/").content.decode()
    assert "Fill in the [brackets] of the consent text." in overview  # its design is not done


@pytest.mark.parametrize(
    ("languages", "told"), [(["ar"], True), (["zh"], True), (["en", "ar"], False), (["de"], False)]
)
def test_a_consent_text_in_another_language_is_a_warning_only(
    draft: Study, languages: list[str], told: bool
) -> None:
    draft.languages = languages

    found = [check for check in checks(draft) if "mostly in Latin script" in check.says]

    assert bool(found) == told
    assert first_obstacle(draft) is None


def test_every_text_in_another_language_is_named(draft: Study) -> None:
    draft.languages, draft.opening_text = ["ar"], "Hi!"
    draft.instructions = "Talk about whatever you like, as with a friend."
    draft.debriefing = "كانت جميع الردود من برنامج حاسوبي."

    found = [check.says for check in checks(draft) if "mostly in Latin script" in check.says]

    begins = ["The consent text is", "The instructions are", "“Hi!”, with which conversations open, is"]
    assert [says.partition(" mostly")[0] for says in found] == begins
    draft.opening_text, draft.languages = "", ["ar", "en"]
    assert not [check for check in checks(draft) if check.title == "Language"]


def test_languages_that_no_native_speaker_has_read_are_named(
    draft: Study, client: Client, rex: User, sign_in: SignIn
) -> None:
    draft.languages = ["en", "es-MX", "de"]
    draft.save()

    (found,) = [check for check in checks(draft) if check.title == "Language"]
    form = sign_in(rex).get(f"/studies/{draft.pk}/edit/").content.decode()
    worker = client.get(draft.get_entry_url()).content.decode()

    assert "in Mexican Spanish, German. Read them in the preview" in found.says
    assert first_obstacle(draft) is None
    assert "Arabic (ar). Also, but not read by a native speaker: Spanish (es), German (de)," in form
    assert "native speaker" not in worker


def test_closing_a_study_greets_no_bot(study: Study, rex: User, sign_in: SignIn) -> None:
    set_state(study.pk, Study.State.OPEN)

    sign_in(rex).post(f"/studies/{study.pk}/state/", {"state": "closed"})

    assert Study.objects.get().state == "closed"
    assert resident_bots.hosted_bots() == []


def test_a_user_runs_one_opening_check_at_a_time(draft: Study, rex: User, sign_in: SignIn) -> None:
    client, greet = sign_in(rex), {"greet": "yes"}

    with limit_concurrency(1, "opening", rex.pk):
        second = client.post(f"/studies/{draft.pk}/opening/", greet)
        opened = client.post(f"/studies/{draft.pk}/state/", {"state": "open"}, follow=True)

    draft.refresh_from_db()
    assert second.status_code == 429
    for page in (second, opened):
        assert "You are having bots checked already" in page.content.decode()
    assert draft.state == Study.State.DRAFT
    assert client.post(f"/studies/{draft.pk}/opening/", greet).status_code == 200  # the place is given back
