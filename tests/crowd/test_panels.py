"""Panels: who comes by which link, how they get back, and what is refused."""

import csv
import io
import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.crowd.models import Assignment, Invitation, Outcome, Participation, StudyPanel, Worker
from turnwise.crowd.panels.address import signature
from turnwise.crowd.panels.study_panels import parse_invited_people, save_panels
from turnwise.crowd.places.ending import complete
from turnwise.crowd.places.reservation import keep_place, occupied_places
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

SECRET = "a-secret-of-the-panel"
CODES = {outcome.value: f"CODE-{outcome.value}" for outcome in Outcome}
PROLIFIC = "PROLIFIC_PID=5f2c&STUDY_ID=st1&SESSION_ID=se1"
SANDBOX = "https://workersandbox.mturk.com"
MTURK = f"workerId=A1&assignmentId=3XYZ&hitId=H7&turkSubmitTo={SANDBOX}"
TAKEN: Mapping[str, dict[str, Any]] = {
    "open": {},
    "prolific": {"codes": CODES},
    "mturk": {},
    "url": {
        "parameter": "pid",
        "secret": SECRET,
        "return_url": "https://panel.example/end?who={id}&of={session}&how={outcome}&code={code}",
    },
    "invited": {},
}


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    """One that takes people from every panel."""
    return taking(make_study({"only": 1}, contact="lab@example.org"), *TAKEN)


def taking(study: Study, *panels: str) -> Study:
    save_panels(study, [StudyPanel(panel=panel, **TAKEN[panel]) for panel in panels], closed_to=())
    return study


def link_of(panel: str, study: Study, number: int = 1) -> str:
    """The query of a link of a panel, each number somebody else's."""
    match panel:
        case "prolific":
            return f"PROLIFIC_PID=5f2c-{number}&STUDY_ID=st1&SESSION_ID=se{number}"
        case "mturk":
            return f"workerId=A{number}&assignmentId=3XYZ{number}&hitId=H7&turkSubmitTo={SANDBOX}"
        case "url":
            signed = signature(SECRET, study.code, f"w-{number}", "s-9")
            return f"pid=w-{number}&session=s-9&signature={signed}"
        case "invited":
            token = Invitation.objects.get_or_create(study=study, name=f"p{number}@example.org")[0].token
            return f"invitation={token}"
    return ""


def visit(client: Client, study: Study, query: str) -> Any:
    return client.get(f"/s/{study.code}/?{query}")


def agree(client: Client, study: Study, query: str, **sent: str) -> Any:
    """Open the link and agree on its page, with what else is sent."""
    page = visit(client, study, query).content.decode()
    carried = re.search(r'name="arrival" value="([^"]*)"', page)
    assert carried, page
    form = {"agree": "yes", "consent": "1", "arrival": carried[1]} | sent
    return client.post(f"/s/{study.code}/consent/", form)


def begin(client: Client, study: Study, query: str) -> Participation:
    """From the link to the first thing sent."""
    assert agree(client, study, query).status_code == 302
    assert client.post(f"/s/{study.code}/start/").status_code == 302
    own = Participation.objects.latest("pk")
    keep_place(own.assignment.pk)
    return own


def ended(client: Client, study: Study, query: str, outcome: Outcome = Outcome.COMPLETE) -> Any:
    """The last page of somebody whose work ended so."""
    complete(begin(client, study, query).assignment.pk, outcome, now=timezone.now())
    return client.get(f"/s/{study.code}/thanks/")


def text_of(answer: Any) -> str:
    return unescape(answer.content.decode())


def nothing_stored() -> bool:
    return not Worker.objects.exists() and not Participation.objects.exists()


# --- the way through ------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", Outcome)
def test_prolific_gets_the_code_of_each_outcome(study: Study, outcome: Outcome) -> None:
    page = text_of(ended(Client(), study, PROLIFIC, outcome))

    assert f'href="https://app.prolific.com/submissions/complete?cc=CODE-{outcome.value}"' in page
    assert "Return to Prolific" in page
    own = Participation.objects.get()
    assert (own.worker.panel, own.worker.panel_id, own.submission) == ("prolific", "5f2c", "se1")
    assert own.completion_code not in page  # there is one code that counts


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("bot_failed", "DONE"), ("partner_left", "DONE"), ("withdrawn", None), ("timed_out", None)],
)
def test_a_missing_code_falls_back_to_complete_work_only_for_fully_paid_outcomes(
    make_study: MakeStudy, outcome: str, code: str | None
) -> None:
    study = make_study()
    save_panels(study, [StudyPanel(panel="prolific", codes={"complete": "DONE"})], closed_to=())

    page = text_of(ended(Client(), study, PROLIFIC, Outcome(outcome)))

    assert ("cc=DONE" in page) == bool(code)
    assert ("Please return your submission on Prolific" in page) == (code is None)


@pytest.mark.parametrize(("panel", "name"), [("prolific", "Prolific"), ("url", "panel.example")])
def test_the_code_can_be_copied_if_the_button_fails(study: Study, panel: str, name: str) -> None:
    page = text_of(ended(Client(), study, link_of(panel, study)))

    code = {"prolific": "CODE-complete", "url": Participation.objects.get().completion_code}[panel]
    assert f"If the button does not work, copy this code, and enter it at {name} or send it" in page
    assert f'readonly value="{code}"' in page


def test_mechanical_turk_gets_its_own_form(study: Study) -> None:
    answer = ended(Client(), study, MTURK)

    page, own = text_of(answer), Participation.objects.get()
    assert f'<form method="post" action="{SANDBOX}/mturk/externalSubmit">' in page
    assert 'name="assignmentId" value="3XYZ"' in page
    assert f'name="completionCode" value="{own.completion_code}"' in page
    assert "csrf" not in page.partition("externalSubmit")[2].partition("</form>")[0]
    assert f'readonly value="{own.completion_code}"' in page  # should Amazon not take the form
    policy = answer.headers["Content-Security-Policy"]
    assert f"form-action 'self' {SANDBOX}" in policy


def test_a_preview_at_mechanical_turk_cannot_be_started_and_may_be_framed(study: Study) -> None:
    client = Client()
    preview = visit(
        client, study, f"assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H7&turkSubmitTo={SANDBOX}"
    )
    framed = client.get(f"/s/{study.code}/?{MTURK}", headers={"Sec-Fetch-Dest": "iframe"})

    assert "This is a preview" in text_of(preview)
    assert "/consent/" not in text_of(preview)
    assert 'target="_blank"' in text_of(framed)
    for answer in (preview, framed):
        assert "frame-ancestors https://*.mturk.com" in answer.headers["Content-Security-Policy"]
        assert "X-Frame-Options" not in answer.headers
    assert "X-Frame-Options" in visit(client, study, MTURK).headers
    assert nothing_stored()


def test_any_other_panel_gets_all_requested_values(study: Study) -> None:
    page = text_of(ended(Client(), study, link_of("url", study)))

    own = Participation.objects.get()
    assert f'href="https://panel.example/end?who=w-1&of=s-9&how=complete&code={own.completion_code}"' in page
    assert "Return to panel.example" in page


@pytest.mark.parametrize("panel", ["open", "invited"])
def test_without_a_panel_address_there_is_a_code_to_copy(study: Study, panel: str) -> None:
    page = text_of(ended(Client(), study, link_of(panel, study)))

    assert f'value="{Participation.objects.get().completion_code}"' in page
    assert ("enter it on the page that sent you here" in page) == (panel == "open")
    assert ("Keep this code, in case the researchers ask for it." in page) == (panel == "invited")


@pytest.mark.parametrize("outcome", [Outcome.SCREENED_OUT, Outcome.WITHDRAWN, Outcome.TIMED_OUT])
def test_unfinished_work_has_no_code_of_complete_work(study: Study, outcome: Outcome) -> None:
    page = text_of(ended(Client(), study, "", outcome))

    assert Participation.objects.get().completion_code not in page
    assert "Thank you. You are done." not in page


# --- signed links ---------------------------------------------------------------------------------


def test_the_signature_is_the_one_that_openssl_makes() -> None:
    # printf 'abc123:w-1' | openssl dgst -sha256 -hmac a-secret-of-the-panel, and with :s-9
    assert (
        signature(SECRET, "abc123", "w-1")
        == "c0fd6d5d8efb1ce409364a426580ce5ce5735cc1aa5f3e4e4d6ab314229c3935"
    )
    assert (
        signature(SECRET, "abc123", "w-1", "s-9")
        == "b37bc1e4fb4c14fbb8bf8b4071fac8718fb6ebbb0d281c05289dc060103aa2b0"
    )


LONG = "x" * 10_000


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("pid=w-1", "It has no signature"),
        ("pid=w-1&signature=", "It has no signature"),
        ("pid=w-1&signature=0123", "Its signature is not valid"),
        ("pid=w-1&signature=ä", "Its signature is not valid"),
        ("pid=w-2&session=s-9&signature={of_w1}", "Its signature is not valid"),
        ("pid=w-1&signature={of_w1}", "Its signature is not valid"),
        (f"PROLIFIC_PID={LONG}", "which is not an id"),
        ("PROLIFIC_PID=<script>alert(1)</script>", "which is not an id"),
        ("PROLIFIC_PID=", "“PROLIFIC_PID” is empty"),
        ("PROLIFIC_PID=a&PROLIFIC_PID=b", "appears in it 2 times"),
        ("STUDY_ID=st1", "“PROLIFIC_PID” is empty"),
        ("PROLIFIC_PID=%F0%9F%98%80", "which is not an id"),
        ("workerId=A1&assignmentId=X&hitId=H", "“turkSubmitTo” is empty"),
        (f"workerId=A1&assignmentId=X&hitId=H&turkSubmitTo={LONG}", "not a Mechanical Turk"),
        ("workerId=A1&assignmentId=X&hitId=H&turkSubmitTo=https://evil.example", "not a Mechanical Turk"),
        ("workerId=A1&assignmentId=X&hitId=H&turkSubmitTo=http://www.mturk.com", "not a Mechanical Turk"),
        ("workerId=A1&assignmentId=X&hitId=H&turkSubmitTo=https://www.mturk.com@evil.example", "not a Mech"),
        ("workerId=A1&assignmentId=X&hitId=H&turkSubmitTo=https://www.mturk.com.evil.example/", "not a Mech"),
        ("workerId=A1&assignmentId=X&hitId=H&turkSubmitTo=https://[::1", "not a Mechanical Turk"),
        ("invitation=nobody", "no such invitation"),
        (f"invitation={LONG}", "no such invitation"),
    ],
)
def test_a_malformed_link_is_refused_with_an_explanation(study: Study, query: str, says: str) -> None:
    answer = visit(Client(), study, query.format(of_w1=signature(SECRET, study.code, "w-1", "s-9")))

    assert 400 <= answer.status_code < 410
    assert says in text_of(answer)
    assert "<script>alert" not in answer.content.decode()
    assert "lab@example.org" in text_of(answer)
    assert len(answer.content) < 6000
    assert nothing_stored()


def test_a_panel_that_the_study_does_not_use_is_refused(make_study: MakeStudy) -> None:
    prolific, nothing_said = taking(make_study(title="A"), "prolific"), make_study(title="B")

    assert "does not take people from there" in text_of(visit(Client(), prolific, MTURK))
    assert "does not take people from there" in text_of(visit(Client(), nothing_said, PROLIFIC))
    plain = visit(Client(), prolific, "")
    assert plain.status_code == 403
    assert "You can start this study only from: Prolific" in text_of(plain)
    assert "the link is wrong: return the task and tell the research team" in text_of(plain)
    assert "Resume code" in text_of(plain)
    assert Client().post(f"/s/{prolific.code}/consent/", {"agree": "yes", "consent": "1"}).status_code == 403
    assert nothing_stored()


@pytest.mark.parametrize(
    ("taken", "says"),
    [
        (StudyPanel(panel="url", parameter="pid"), "only from: your panel."),
        (StudyPanel(panel="url", parameter="pid", return_url="https://a.example/x"), "only from: a.example."),
        (StudyPanel(panel="invited"), "only from: the link in your invitation."),
    ],
)
def test_the_plain_link_names_the_required_panels(
    make_study: MakeStudy, taken: StudyPanel, says: str
) -> None:
    study = make_study()
    save_panels(study, [taken], closed_to=())

    assert says in text_of(visit(Client(), study, ""))


def test_an_invitation_is_refused_if_the_study_invites_nobody(make_study: MakeStudy) -> None:
    page = text_of(visit(Client(), make_study(), "invitation=abc"))

    assert "There is no such invitation to this study." in page


def test_the_signed_arrival_cannot_be_altered_or_used_elsewhere(make_study: MakeStudy) -> None:
    first, second = (taking(make_study(title=title), "prolific") for title in "AB")
    page = text_of(visit(Client(), first, PROLIFIC))
    carried = re.findall(r'name="arrival" value="([^"]+)"', page)[0]

    for study, sent in ((second, carried), (first, carried[:-2] + "xx"), (first, "PROLIFIC_PID=5f2c")):
        form = {"agree": "yes", "consent": "1", "arrival": sent}
        answer = Client().post(f"/s/{study.code}/consent/", form)
        assert answer.status_code == 400
        assert "was altered" in text_of(answer)
    assert nothing_stored()


# --- coming again ---------------------------------------------------------------------------------


@pytest.mark.parametrize("panel", ["prolific", "mturk", "url", "invited"])
def test_a_known_id_in_another_browser_is_recognised_and_ends_no_session(study: Study, panel: str) -> None:
    owner, other, query = Client(), Client(), link_of(panel, study)
    own = begin(owner, study, query)

    page = visit(other, study, query)

    assert "already started this study in another browser" in text_of(page)
    assert 'name="code"' in text_of(page)
    assert "lab@example.org" in text_of(page)
    assert "I have read this" not in text_of(page)
    assert COOKIE not in page.cookies
    carried = re.findall(r'name="arrival" value="([^"]+)"', page.content.decode())[0]
    forced = {"agree": "yes", "consent": "1", "arrival": carried}
    assert other.post(f"/s/{study.code}/consent/", forced).status_code == 409
    assert owner.get(f"/s/{study.code}/chat/").status_code == 200

    resumed = other.post(f"/s/{study.code}/resume/", {"code": own.resume_code, "arrival": carried})

    assert resumed.headers["Location"] == f"/s/{study.code}/chat/"
    assert owner.get(f"/s/{study.code}/chat/").status_code == 200
    assert Participation.objects.get() == own


def test_the_page_that_recognises_a_worker_explains_a_wrong_code(study: Study) -> None:
    begin(Client(), study, PROLIFIC)
    other = Client()
    carried = re.findall(r'name="arrival" value="([^"]+)"', text_of(visit(other, study, PROLIFIC)))[0]

    page = other.post(f"/s/{study.code}/resume/", {"code": "AAAAA-AAAAA", "arrival": carried})

    assert page.status_code == 422
    assert "Codes look like" in text_of(page)
    assert "Welcome back" in text_of(page)


def test_the_resume_code_is_shown_plainly_before_the_work_begins(study: Study) -> None:
    client = Client()
    page = text_of(client.get(agree(client, study, PROLIFIC).headers["Location"]))

    shown = page.partition("Your resume code</h2>")[2].partition("<details")[0]
    assert f'value="{Participation.objects.get().resume_code}"' in shown
    assert 'data-copy="resume-code"' in shown


def test_finished_work_is_not_paid_twice(study: Study) -> None:
    client = Client()
    ended(client, study, PROLIFIC)

    assert visit(client, study, PROLIFIC).headers["Location"] == f"/s/{study.code}/thanks/"
    again = visit(client, study, PROLIFIC.replace("se1", "se2"))

    assert again.status_code == 409
    assert "You have already taken part" in text_of(again)
    assert "cc=CODE-screened_out" in text_of(again)
    assert "cc=CODE-complete" not in text_of(again)
    assert Participation.objects.get().submission == "se1"


def test_open_work_continues_with_a_new_submission(study: Study) -> None:
    client = Client()
    begin(client, study, PROLIFIC)

    assert (
        visit(client, study, PROLIFIC.replace("se1", "se2")).headers["Location"] == f"/s/{study.code}/chat/"
    )
    assert Participation.objects.get().submission == "se2"


def test_one_submission_pays_one_person(study: Study) -> None:
    begin(Client(), study, PROLIFIC)

    answer = agree(Client(), study, PROLIFIC.replace("5f2c", "77aa"))

    assert answer.status_code == 409
    assert "Somebody else has already used it" in text_of(answer)
    assert Participation.objects.count() == Worker.objects.count() == 1


def test_participants_of_one_study_can_be_excluded_from_another(make_study: MakeStudy) -> None:
    first, second = (taking(make_study(title=title), "prolific") for title in "AB")
    save_panels(second, [StudyPanel(panel="prolific", codes=CODES)], closed_to=[first])
    looked, took_part = Client(), Client()
    agree(looked, first, PROLIFIC.replace("5f2c", "77aa").replace("se1", "se2"))
    begin(took_part, first, PROLIFIC)

    refused = visit(Client(), second, PROLIFIC)

    assert refused.status_code == 403
    assert "have not taken part in an earlier study" in text_of(refused)
    assert "cc=CODE-screened_out" in text_of(refused)
    # who only agreed and did nothing there has not taken part
    assert visit(Client(), second, PROLIFIC.replace("5f2c", "77aa").replace("se1", "se3")).status_code == 200


def test_a_full_or_closed_study_leads_back_with_its_own_code(study: Study) -> None:
    begin(Client(), study, PROLIFIC)
    late = PROLIFIC.replace("5f2c", "77aa").replace("se1", "se2")

    full = visit(Client(), study, late)
    set_state(study.pk, Study.State.CLOSED)
    closed = visit(Client(), study, late)

    for page, status in ((full, 409), (closed, 403)):
        assert page.status_code == status
        assert "cc=CODE-study_full" in text_of(page)
        assert 'readonly value="CODE-study_full"' in text_of(page)


# --- leaving --------------------------------------------------------------------------------------


def test_leaving_asks_for_confirmation_and_frees_the_place(study: Study) -> None:
    client = Client()
    own = begin(client, study, PROLIFIC)
    bot = own.assignment.study_bot
    assert bot

    asked = client.get(f"/s/{study.code}/leave/")
    assert "Leave the study?" in text_of(asked)
    assert occupied_places([bot], timezone.now())[bot.pk] == 1

    page = client.post(f"/s/{study.code}/leave/", follow=True)

    assert "You have left the study" in text_of(page)
    assert "cc=CODE-withdrawn" in text_of(page)
    assert occupied_places([bot], timezone.now())[bot.pk] == 0
    assert client.get(f"/s/{study.code}/chat/").headers["Location"] == f"/s/{study.code}/thanks/"
    assert agree(Client(), study, link_of("url", study)).status_code == 302


def test_leaving_before_the_start_occupies_no_place(study: Study) -> None:
    client = Client()
    agree(client, study, PROLIFIC)

    client.post(f"/s/{study.code}/leave/")

    assert Assignment.objects.get().outcome == Outcome.WITHDRAWN
    assert client.post(f"/s/{study.code}/start/").status_code == 409
    assert Assignment.objects.get().study_bot is None


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "You can close this page. The same link"),
        (PROLIFIC, "You can close this page afterwards. The same link"),
    ],
)
def test_a_single_next_step_is_a_sentence(make_study: MakeStudy, query: str, says: str) -> None:
    study = make_study()
    panels = [StudyPanel(panel="open"), StudyPanel(panel="prolific", codes={"complete": "DONE"})]
    save_panels(study, panels, closed_to=())

    left = text_of(ended(Client(), study, query, Outcome.WITHDRAWN))

    assert ("Please return your submission on Prolific." in left) == bool(query)
    assert f"<p>{says}" in left
    assert "<li>" not in left.split("What happens next")[1].split("Your data")[0]


def test_a_researcher_ends_work_that_was_returned_at_the_panel(
    study: Study, rex: User, mallory: User
) -> None:
    client = Client()
    own = begin(client, study, PROLIFIC)
    staff, other = Client(), Client()
    staff.force_login(rex)
    other.force_login(mallory)
    path = f"/studies/{study.pk}/participants/{own.pk}/end/"

    assert other.post(path, {"outcome": "withdrawn"}).status_code == 404
    assert "not an outcome that you can choose" in text_of(
        staff.post(path, {"outcome": "complete"}, follow=True)
    )
    assert not Assignment.objects.get().outcome

    assert "the place is free" in text_of(staff.post(path, {"outcome": "timed_out"}, follow=True))
    assert "had already ended" in text_of(staff.post(path, {"outcome": "withdrawn"}, follow=True))
    assert Assignment.objects.get().outcome == Outcome.TIMED_OUT
    assert "Your time is up" in text_of(client.get(f"/s/{study.code}/thanks/"))


# --- the page of panels ---------------------------------------------------------------------------


@pytest.fixture
def staff(rex: User) -> Client:
    client = Client()
    client.force_login(rex)
    return client


def form_of(*panels: str, **more: str) -> dict[str, str]:
    """What the page sends for these panels as they are in `TAKEN`."""
    sent = {}
    for panel in panels:
        sent[f"{panel}-taken"] = "on"
        for name, value in TAKEN[panel].items():
            if name == "codes":
                sent |= {f"{panel}-code_{outcome}": code for outcome, code in value.items()}
            else:
                sent[f"{panel}-{name}"] = value
    return sent | {name.replace("__", "-"): value for name, value in more.items()}


def test_the_page_shows_the_links_for_each_panel_and_keeps_saved_settings(
    make_study: MakeStudy, staff: Client
) -> None:
    study, earlier = make_study(title="New"), make_study(title="Earlier")
    path = f"/studies/{study.pk}/panels/"
    fresh = text_of(staff.get(path))
    assert "PROLIFIC_PID={{%PROLIFIC_PID%}}" in fresh
    assert re.search(r'name="open-taken"[^>]* checked', fresh)

    saved = staff.post(path, form_of("prolific", "url", closed_to_workers_of=str(earlier.pk)))

    assert saved.status_code == 302
    stored = {each.panel: each for each in study.panels.all()}
    assert set(stored) == {"prolific", "url"}
    assert stored["prolific"].codes == CODES
    assert stored["url"].secret == SECRET
    assert list(study.closed_to_workers_of.all()) == [earlier]
    again = text_of(staff.get(path))
    assert 'value="CODE-timed_out"' in again
    assert f"/s/{study.code}/?pid=ID&session=SESSION&signature=SIGNATURE" in again


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("prolific-code_complete", "", "needs a code for complete work"),
        ("prolific-code_complete", "two words", "is not a code"),
        ("url-parameter", "a b", "cannot be the name of a parameter"),
        ("url-parameter", "", "cannot be the name of a parameter"),
        ("url-parameter", "PROLIFIC_PID", "is a parameter of another panel"),
        ("url-parameter", "session", "means something else"),
        ("url-secret", "short", "A secret of 5 characters can be guessed"),
        ("url-return_url", "http://panel.example", "begins with https://"),
        ("url-return_url", "javascript:alert(1)", "begins with https://"),
        ("url-return_url", "https://{id}.example", "begins with https://"),
        ("url-return_url", "https://[", "begins with https://"),
        ("url-return_url", "https://panel.example/{name}", "{name} is none of"),
    ],
)
def test_invalid_panel_settings_are_refused_at_their_field(
    make_study: MakeStudy, staff: Client, field: str, value: str, says: str
) -> None:
    study = make_study()

    answer = staff.post(f"/studies/{study.pk}/panels/", form_of("prolific", "url") | {field: value})

    assert answer.status_code == 422
    assert says in text_of(answer)
    assert not study.panels.exists()


def test_used_settings_are_fixed_and_codes_may_change(study: Study, staff: Client) -> None:
    begin(Client(), study, link_of("url", study))
    path = f"/studies/{study.pk}/panels/"

    for broken in (
        form_of("open", "prolific"),
        form_of("url") | {"url-parameter": "other"},
        form_of("url") | {"url-secret": "x" * 20},
    ):
        answer = staff.post(path, broken)
        assert answer.status_code == 422
        assert "People have come through this panel" in text_of(answer)
        assert SECRET not in text_of(answer).partition("errorlist")[2].partition("</ul>")[0]
    assert study.panels.count() == len(TAKEN)

    assert staff.post(path, form_of("url") | {"url-code_complete": "NEW"}).status_code == 302
    assert study.panels.get().codes == {"complete": "NEW"}


def test_pages_of_other_researchers_are_not_found(study: Study, mallory: User) -> None:
    other = Client()
    other.force_login(mallory)

    assert other.post(f"/studies/{study.pk}/panels/", form_of("open")).status_code == 404
    assert other.post(f"/studies/{study.pk}/panels/invite/", {"people": "a@b.org"}).status_code == 404
    assert study.panels.count() == len(TAKEN)


def test_exclusion_by_study_covers_only_studies_of_the_same_team(
    study: Study, make_study: MakeStudy, staff: Client, ada: User
) -> None:
    foreign = make_study(title="Not Rex's")
    Study.objects.filter(pk=foreign.pk).update(owner=ada)

    answer = staff.post(f"/studies/{study.pk}/panels/", form_of(*TAKEN, closed_to_workers_of=str(foreign.pk)))

    assert answer.status_code == 422
    assert not study.closed_to_workers_of.exists()


# --- invitations ----------------------------------------------------------------------------------


def test_a_list_becomes_links_for_one_person_each(study: Study, staff: Client) -> None:
    path = f"/studies/{study.pk}/panels/invite/"
    text = "Dear all: Ann <ann@example.org>, bob@example.org; and ann@example.org again."
    staff.post(path, {"people": text})
    file = SimpleUploadedFile("people.csv", b"\xef\xbb\xbfname,group\n=HYPERLINK(1),a\nZo\xc3\xab,b\n")
    staff.post(path, {"file": file})
    staff.post(path, {"people": "bob@example.org"})

    listed = staff.get(f"/studies/{study.pk}/invitations.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(listed).decode())))

    assert [row["name"] for row in rows] == ["ann@example.org", "bob@example.org", "'=HYPERLINK(1)", "Zoë"]
    assert len({row["link"] for row in rows}) == 4
    begin(Client(), study, rows[1]["link"].partition("?")[2])
    assert "already started" in text_of(visit(Client(), study, rows[1]["link"].partition("?")[2]))
    used = csv.DictReader(io.StringIO(b"".join(staff.get(f"/studies/{study.pk}/invitations.csv")).decode()))
    assert [row["used"] for row in used] == ["no", "yes", "no", "no"]


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ({"people": " \n"}, "The list is empty"),
        ({}, "The list is empty"),
        ({"people": "ann@@example"}, "is not an e-mail address"),
        ({"people": "\n".join(f"p{n}@example.org" for n in range(5001))}, "at most 5000"),
        ({"people": "x" * 300}, "has 300 characters"),
        ({"file": SimpleUploadedFile("x.csv", b"\xff\xfe\x00")}, "not in UTF-8"),
        ({"file": SimpleUploadedFile("x.csv", b"a" * 1_000_001)}, "larger than 1\u00a0MB"),
    ],
)
def test_an_invalid_list_is_refused(study: Study, staff: Client, sent: dict[str, Any], says: str) -> None:
    answer = staff.post(f"/studies/{study.pk}/panels/invite/", sent)

    assert answer.status_code == 422
    assert says in text_of(answer)
    assert not Invitation.objects.exists()


def test_inviting_people_closes_the_open_link_to_nobody(make_study: MakeStudy, staff: Client) -> None:
    study = make_study()

    staff.post(f"/studies/{study.pk}/panels/invite/", {"people": "ann@example.org"})

    assert {each.panel for each in study.panels.all()} == {"open", "invited"}
    assert visit(Client(), study, "").status_code == 200


def test_an_invitation_opens_no_other_study(study: Study, make_study: MakeStudy) -> None:
    other = taking(make_study(title="Other"), "invited")

    assert "no such invitation" in text_of(visit(Client(), other, link_of("invited", study)))


def test_panel_settings_are_validated_from_every_source(study: Study) -> None:
    with pytest.raises(ValidationError, match="needs a code for complete work"):
        save_panels(study, [StudyPanel(panel="prolific")], closed_to=())


@pytest.mark.timeout(300)  # it took hours, in which the process did nothing else, sockets included
def test_parsing_a_long_word_in_an_invitation_list_takes_linear_time() -> None:
    assert parse_invited_people("a" * 2_000_000 + " ann@example.org, bob@example.org.") == [
        "ann@example.org",
        "bob@example.org",
    ]
