"""A study once more, and a study out of sight."""

import re
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError

from tests.conftest import MakeQueue, MakeStudy, MakeVersion
from tests.planted import SignIn, talked
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.models import StudyPanel
from turnwise.crowd.panels.study_panels import invite, save_panels, setup_problems
from turnwise.judging.models import Item, JudgingPlan, Slot
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import archive, clone, save_study, set_state
from turnwise.tasks.writing.models import WritingPlan

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_copy_has_the_same_design_and_no_participants(make_study: MakeStudy, ada: User) -> None:
    asks = [
        AskSpec("ssa", About.PARTNER_TURN, Moment.BEFORE_FINISH),
        AskSpec("likert", About.DIALOGUE, Moment.AT_END, required=False),
    ]
    study = make_study(
        {"ann": 3, "bob": 7, "off": 2}, asks=asks, min_turns=2, max_turns=6, pay_amount=2, blind=False,
        primary_analysis="without_excluded", exclusion_rules="Too fast", instructions="Talk.",
        margin=5,
    )  # fmt: skip
    Bot.objects.filter(name="off").update(active=False)
    talked(study, [(True, True)])
    before = Study.objects.filter(pk=study.pk).values().get()

    copy = clone(study, owner=ada)

    assert (copy.title, copy.owner, copy.state, copy.rehearsal_of) == (
        "Copy of Small talk",
        ada,
        "draft",
        None,
    )
    assert copy.code != study.code
    own = {"id", "code", "owner_id", "state", "created_at", "results_version", "title"}
    after = Study.objects.filter(pk=copy.pk).values().get()
    assert {name for name, value in after.items() if value != before.get(name)} <= own
    assert (copy.protocol, copy.margin) == ("meena-interactive", 5)
    assert copy.consent_versions.get().text == "You talk to a machine."
    assert {each.bot.name: each.target for each in copy.study_bots.all()} == {"ann": 3, "bob": 7}
    assert [ask.declared for ask in copy.asks.all()] == asks
    assert not copy.participations.exists()
    assert not copy.dialogues.exists()
    assert Study.objects.filter(pk=study.pk).values().get() == before


def test_a_copy_has_the_panels_without_secrets_and_codes(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    earlier, study = make_study({"ann": 1}, title="Earlier"), make_study({"bob": 3})
    back = "https://panel.example/end?who={id}"
    panels = [
        StudyPanel(panel="prolific", codes={"complete": "C0DE1234", "withdrawn": "GONE"}),
        StudyPanel(panel="url", parameter="pid", secret="a-secret-of-the-panel", return_url=back),
        StudyPanel(panel="invited"),
    ]
    save_panels(study, panels, closed_to=[earlier])
    invite(study, ["ann@example.org"])

    copy = clone(study, owner=rex)

    prolific, url, invited = copy.panels.order_by("pk")
    assert (prolific.panel, prolific.codes) == ("prolific", {})
    assert (url.panel, url.parameter, url.return_url) == ("url", "pid", back)
    assert invited.panel == "invited"
    assert not copy.invitations.exists()
    # Links into the copy are signed, too, and not by whoever knows the secret of the first study.
    assert len(url.secret) >= 32
    assert url.secret != "a-secret-of-the-panel"
    assert list(copy.closed_to_workers_of.all()) == [earlier]

    client, page = sign_in(rex), f"/studies/{copy.pk}"
    assert "Prolific needs a code for complete work." in client.get(f"{page}/opening/").content.decode()
    said = client.post(f"{page}/state/", {"state": "open"}, follow=True).content.decode()
    assert "Prolific needs a code for complete work. Set it under “Panels and invitations”." in said
    copy.refresh_from_db()
    assert copy.state == "draft"
    # The page proposes one to set up there; saved, nothing is missing.
    field = re.search(
        r'<input[^>]*name="prolific-code_complete"[^>]*>', client.get(f"{page}/panels/").content.decode()
    )
    assert field
    proposed = re.search(r'value="([A-Z0-9]{8})"', field[0])
    assert proposed
    StudyPanel.objects.filter(pk=prolific.pk).update(codes={"complete": proposed[1]})
    assert setup_problems(copy) == ""


def test_a_copy_has_only_bots_that_its_owner_may_see(study: Study, mallory: User) -> None:
    Bot.objects.update(owner=study.owner, open_to_all=False)

    assert not clone(study, owner=mallory).study_bots.exists()


def test_a_copied_queue_asks_for_the_same_judgments(make_queue: MakeQueue, rex: User) -> None:
    queue = make_queue(3)
    JudgingPlan.objects.filter(study=queue).update(raters_per_item=2, batch_size=9)
    queue = Study.objects.get(pk=queue.pk)

    copy = clone(queue, owner=rex)

    def judged(study: Study) -> list[Any]:
        return sorted(
            Item.objects.filter(study=study).values_list("response", "turn", "dialogue", "language")
        )

    assert judged(copy) == judged(queue) != []
    assert (copy.judging.raters_per_item, copy.judging.batch_size) == (2, 9)
    assert Slot.objects.filter(study=copy).count() == 2 * len(judged(queue))
    set_state(copy.pk, Study.State.OPEN)


def test_a_copy_writes_to_the_same_contexts(rex: User, make_version: MakeVersion, sign_in: SignIn) -> None:
    version = make_version(2)
    plan = WritingPlan(context_version=version, responses_per_context=3, batch_size=4)
    drafted = Study(title="Write", task="writing", languages=["en"])
    study = save_study(drafted, owner=rex, consent_text="x", targets={}, plan=plan)

    assert sign_in(rex).post(f"/studies/{study.pk}/clone/").status_code == 302

    copied = Study.objects.exclude(pk=study.pk).get().writing
    assert (copied.context_version, copied.responses_per_context, copied.batch_size) == (version, 3, 4)


def test_an_archived_study_is_hidden_from_lists_until_restored(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    client, address = sign_in(rex), f"/studies/{study.pk}/"
    page = client.post(f"{address}archive/", follow=True).content.decode()
    assert "is open or paused. Close it first, then archive it." in page
    set_state(study.pk, Study.State.CLOSED)

    page = client.post(f"{address}archive/", follow=True).content.decode()

    assert "it no longer appears in lists" in page
    assert study.title not in client.get("/studies/").content.decode()
    assert study.title in client.get("/studies/?show=archived").content.decode()
    client.post(f"{address}archive/", {"undo": "yes"})
    assert study.title in client.get("/studies/").content.decode()


def test_opening_takes_a_study_out_of_the_archive(study: Study) -> None:
    set_state(study.pk, Study.State.CLOSED)
    archive(study.pk)

    set_state(study.pk, Study.State.OPEN)

    assert Study.objects.get(pk=study.pk).archived_at is None
    with pytest.raises(ValidationError, match="is open"):
        archive(study.pk)
    with pytest.raises(IntegrityError, match="study_archived_is_not_open"):
        Study.objects.filter(pk=study.pk).update(archived_at=study.created_at)


@pytest.mark.parametrize("action", ["clone", "archive"])
def test_other_users_can_neither_copy_nor_archive(
    study: Study, mallory: User, sign_in: SignIn, action: str
) -> None:
    assert sign_in(mallory).post(f"/studies/{study.pk}/{action}/").status_code == 404
    assert Study.objects.get() == study
