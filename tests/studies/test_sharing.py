"""A study is its owner's until it is shared, in a role, with people or groups; and the tags of lists."""

import json
import re
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import CheckConstraint
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked
from tests.schema import ROOT
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.crowd.models import PayEntry, Worker
from turnwise.groups.models import Membership
from turnwise.groups.services import create_group, remove_member
from turnwise.quality.models import Decision, Flag
from turnwise.studies import services
from turnwise.studies.models import Role, Share, Study
from turnwise.studies.queries import readable_studies_of, studies_of
from turnwise.studies.sharing.permissions import (
    GRANTED_BY,
    ROLE_PERMISSIONS,
    Permission,
    accessible_studies,
    granted_by,
    may,
    permissions_of,
)
from turnwise.studies.sharing.services import share_with_person
from turnwise.workspace.home import costs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shared(make_study: MakeStudy) -> Study:
    """Rex's, with a conversation and its report."""
    study = make_study(title="Of Rex", min_turns=2, max_turns=4)
    talked(study, [(True, True)])
    computed(study)
    return study


def pages(study: Study) -> dict[str, str]:
    """The pages of a study by their names."""
    dialogue = study.dialogues.get()
    named = {
        name: reverse(name, args=[study.pk])
        for name in (
            "workspace:overview", "reports:study", "reports:stamp", "labels:dialogues", "exports:turns.csv",
            "exports:turns.jsonl", "monitoring:monitor", "studies:edit", "studies:opening", "studies:sharing",
            "crowd:participants", "crowd:payments", "crowd:panels", "crowd:preview", "rehearsals:rehearsal",
            "exports:bundle", "quality:study", "studies:preregistration",
        )
    }  # fmt: skip
    named["labels:transcript"] = reverse("labels:transcript", args=[dialogue.public_id])
    named["reports:chart_svg"] = reverse("reports:chart_svg", args=[study.pk, "scores"])
    return named


FOR_READERS = {
    "workspace:overview", "reports:study", "reports:stamp", "reports:chart_svg", "labels:dialogues",
    "labels:transcript", "exports:turns.csv", "exports:turns.jsonl",
}  # fmt: skip


NO_PAGES = {"reports:stamp", "reports:chart_svg", "exports:turns.csv", "exports:turns.jsonl"}
FOR_REVIEWERS = FOR_READERS | {
    "monitoring:monitor",
    "crowd:preview",
    "quality:study",
    "studies:preregistration",
}


def dead_links(client: Client, study: Study, page: str) -> list[str]:
    """Links and forms of the page within the study that this person may not follow."""
    links = set(re.findall(rf'(?:href|action)="(/studies/{study.pk}/[^"?#]*)', page))
    return [
        link for link in links
        if not link.endswith((".pdf", "/report/")) and client.get(link).status_code == 404
    ]  # fmt: skip


def opened(client: Client, study: Study) -> set[str]:
    """The pages that open."""
    found = set()
    for name, path in pages(study).items():
        answer = client.get(path)
        if answer.streaming:
            answer.getvalue()
        assert answer.status_code in (200, 404), (name, answer.status_code)
        found |= {name} if answer.status_code == 200 else set()
    return found


def changed(client: Client, study: Study) -> list[int]:
    """What is answered to each that would change something."""
    dialogue = study.dialogues.get()
    posts = [
        (reverse("labels:exclude", args=[dialogue.public_id]), {"reason": "Idle"}),
        (reverse("reports:refresh", args=[study.pk]), {}),
        (reverse("studies:set_state", args=[study.pk]), {"state": "closed"}),
        (reverse("studies:tags", args=[study.pk]), {"tags": "new"}),
        (reverse("studies:clone", args=[study.pk]), {}),
    ]
    return [client.post(path, sent).status_code for path, sent in posts]


def test_other_users_see_no_unshared_study(shared: Study, mallory: User, sign_in: SignIn) -> None:
    assert opened(sign_in(mallory), shared) == set()
    assert not readable_studies_of(mallory).exists()


def test_a_reader_of_a_study_reads_and_changes_nothing(shared: Study, mallory: User, sign_in: SignIn) -> None:
    share_with_person(shared, "mallory", "reader")
    client = sign_in(mallory)

    assert opened(client, shared) == FOR_READERS
    assert changed(client, shared) == [404] * 5
    shared.refresh_from_db()
    assert (shared.state, shared.tags, Study.objects.count()) == ("open", [], 1)
    for name in FOR_READERS - NO_PAGES:
        page = client.get(pages(shared)[name]).content.decode()
        assert page.count('method="post"') == 1, name  # signing out
        assert dead_links(client, shared, page) == [], name
    assert "Of Rex" in client.get("/studies/").content.decode()
    Worker.objects.update(panel="pid", panel_id="p-7")  # nobody learns here whom a panel calls so
    named = f"{pages(shared)['labels:dialogues']}?worker="
    assert "No conversation matches." in client.get(f"{named}p-7").content.decode()
    pseudonym = shared.participations.get().pseudonym
    assert "1 conversation." in client.get(named + pseudonym).content.decode()
    assert not may(mallory, Permission.CHANGE, shared)


def test_a_reader_gets_the_bundle_only_if_the_owner_says_so(
    shared: Study, mallory: User, sign_in: SignIn
) -> None:
    share_with_person(shared, "mallory", "reader", may_bundle=True)
    client = sign_in(mallory)

    assert opened(client, shared) == FOR_READERS | {"exports:bundle"}
    assert "/bundle/" in client.get(pages(shared)["reports:study"]).content.decode()
    assert client.post(reverse("exports:make_bundle", args=[shared.pk])).status_code == 302


def test_a_reviewer_reads_everything_and_decides_about_flags_alone(
    shared: Study, mallory: User, sign_in: SignIn
) -> None:
    share_with_person(shared, "mallory", "reviewer")
    client, one = sign_in(mallory), shared.participations.get()
    Flag.objects.create(
        participation=one,
        kind="gold",
        figures={"right": 1, "of": 4, "low": 0.05, "high": 0.7},
        evidence=[],
        found_at=timezone.now(),
    )

    assert opened(client, shared) == FOR_REVIEWERS
    assert changed(client, shared) == [404] * 5
    for name in FOR_REVIEWERS - NO_PAGES:
        page = client.get(pages(shared)[name]).content.decode()
        assert [link for link in dead_links(client, shared, page) if "/quality/" not in link] == [], name
    page = client.get(pages(shared)["quality:study"]).content.decode()
    assert 'value="exclude"' in page
    assert not {each for each in ("block", "approve", "reject") if f'value="{each}"' in page}
    shared.refresh_from_db()
    assert shared.previewed_at is None  # a reviewer's look is no step of the study

    path = reverse("quality:decide", args=[shared.pk, one.pk])
    for action in ("reject", "approve", "block"):
        says = client.post(path, {"action": action, "reason": "x" * 120}, follow=True).content.decode()
        assert "Your role in this study does not allow" in says
    assert not Decision.objects.exists()
    client.post(path, {"action": "exclude", "reason": "Too fast"})
    one.refresh_from_db()
    assert (one.excluded_reason, Decision.objects.get().by) == ("Too fast", "mallory")
    client.post(reverse("quality:undo", args=[shared.pk, Decision.objects.get().pk]))
    one.refresh_from_db()
    assert one.excluded_at is None


def test_an_editor_pays_only_if_the_owner_says_so(shared: Study, mallory: User, sign_in: SignIn) -> None:
    Study.objects.filter(pk=shared.pk).update(pay_amount=2)
    share_with_person(shared, "mallory", "editor")
    client, one = sign_in(mallory), shared.participations.get()

    assert opened(client, shared) == set(pages(shared)) - {"studies:sharing", "crowd:payments"}
    for name in ("workspace:overview", "monitoring:monitor", "crowd:participants"):
        page = client.get(pages(shared)[name]).content.decode()
        assert "/payments/" not in page, name
    act = {"action": "bonus", "participation": one.pk, "amount": "5", "note": "Thanks"}
    says = client.post(reverse("crowd:act", args=[shared.pk]), act, follow=True).content.decode()
    assert "You may not handle the payments of this study" in says
    assert not PayEntry.objects.filter(by="mallory").exists()
    decide = reverse("quality:decide", args=[shared.pk, one.pk])
    client.post(decide, {"action": "approve"})
    assert not Decision.objects.exists()
    assert costs(mallory).totals == []


def test_an_editor_with_payments_does_everything_except_share(
    shared: Study, mallory: User, sign_in: SignIn
) -> None:
    share_with_person(shared, "mallory", "editor", may_pay=True)
    client = sign_in(mallory)

    assert opened(client, shared) == set(pages(shared)) - {"studies:sharing"}
    assert changed(client, shared) == [302] * 5
    shared.refresh_from_db()
    assert (shared.state, shared.tags, shared.owner.username) == ("closed", ["new"], "rex")
    sharing = reverse("studies:sharing", args=[shared.pk])
    assert client.post(sharing, {"name": "ada", "role": "editor"}).status_code == 404
    assert client.post(f"{sharing}{shared.shares.get().pk}/", {"stop": "yes"}).status_code == 404


def test_the_manual_has_the_permissions_of_each_role() -> None:
    text = (ROOT / "docs" / "people.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if "|" in line
    ]
    table = {row[0]: row[2:] for row in rows if len(row) == 5}

    for permission in Permission:
        cells = [
            "yes" if permission in ROLE_PERMISSIONS[role]
            else "if allowed" if can_be_granted(permission, role) else "\u2013"
            for role in (Role.EDITOR, Role.REVIEWER, Role.READER)
        ]  # fmt: skip
        assert table[str(permission.label)] == cells, permission


def can_be_granted(permission: Permission, role: Role) -> bool:
    """True if a share in this role may have the permission in addition, as the database's constraints say."""
    field = GRANTED_BY.get(permission)
    share = Share(role=role, person_id=1, **({field: True} if field else {}))
    try:
        for constraint in Share._meta.constraints:
            if isinstance(constraint, CheckConstraint):
                constraint.validate(Share, share)
    except ValidationError:
        return False
    return field is not None


def test_lists_and_single_studies_follow_the_same_permissions(
    shared: Study, make_study: MakeStudy, rex: User, mallory: User
) -> None:
    rehearsal = make_study({"again": 1}, title="Rehearsal")
    Study.objects.filter(pk=rehearsal.pk).update(rehearsal_of=shared)
    rehearsal.refresh_from_db()
    group = create_group("Lab", by=rex)
    Membership.objects.create(group=group, person=mallory)
    given: list[dict[str, Any]] = [
        {"role": "reader"}, {"role": "reader", "may_bundle": True}, {"role": "reviewer"}, {"role": "editor"},
        {"role": "editor", "may_pay": True},
    ]  # fmt: skip

    def check() -> None:
        for permission in Permission:
            for user in (rex, mallory):
                listed = set(accessible_studies(user, permission))
                single = {each for each in (shared, rehearsal) if permission in permissions_of(user, each)}
                assert listed == single, (user, permission)

    check()
    for each in given:
        person = Share.objects.create(study=shared, person=mallory, **each)
        check()
        person.delete()
        through_group = Share.objects.create(study=shared, group=group, **each)
        check()
        Share.objects.create(study=shared, person=mallory, role="reviewer", may_bundle=True)
        check()  # the rights of both together
        Share.objects.all().delete()
        assert through_group.pk


def test_rehearsals_are_only_for_the_team(shared: Study, make_study: MakeStudy, mallory: User) -> None:
    rehearsal = make_study({"again": 1}, title="Rehearsal")
    Study.objects.filter(pk=rehearsal.pk).update(rehearsal_of=shared)

    share_with_person(shared, "mallory", "reader")
    assert set(readable_studies_of(mallory)) == {shared}
    share_with_person(shared, "mallory", "editor", may_pay=True)
    assert set(studies_of(mallory)) == set(readable_studies_of(mallory)) == {shared, rehearsal}


def test_the_owner_shares_a_study_by_name_changes_the_role_and_stops_sharing(
    shared: Study, rex: User, mallory: User, ada: User, sign_in: SignIn
) -> None:
    owner, other = sign_in(rex), sign_in(mallory)
    path, report = reverse("studies:sharing", args=[shared.pk]), reverse("reports:study", args=[shared.pk])
    User.objects.create_user("gone", is_active=False)

    wrong = {
        "malory": "Nobody signs in here as “malory”",
        "rex": "“rex” is the owner of this study.",
        " ": "Write the name of a person who signs in here.",
        "gone": "“gone” is deactivated and cannot sign in.",
    }
    for name, says in wrong.items():
        answer = owner.post(path, {"name": name, "role": "reader"})
        assert (answer.status_code, says in answer.content.decode()) == (422, True), name
    unknown = owner.post(path, {"name": "mallory", "role": "boss"})
    assert (unknown.status_code, "boss is not one of the available choices" in unknown.content.decode()) == (
        422, True,
    )  # fmt: skip
    assert not Share.objects.exists()

    page = owner.post(path, {"name": "mallory", "role": "reader"}, follow=True).content.decode()
    assert "mallory can now read it." in page
    assert other.get(report).status_code == 200
    row = f"{path}{shared.shares.get().pk}/"
    owner.post(row, {"role": "boss"})
    owner.post(row, {"role": "editor", "may_pay": "on", "may_bundle": "on"})
    stored = shared.shares.get()
    assert (stored.role, stored.may_pay, stored.may_bundle) == (
        "editor",
        True,
        False,
    )  # has the bundle anyway
    owner.post(row, {"role": "reader", "may_pay": "on"})
    assert shared.shares.filter(role="reader", may_pay=False).exists()  # no reader pays

    owner.post(row, {"stop": "yes"})
    assert owner.post(row, {"stop": "yes"}).status_code == 404
    assert other.get(report).status_code == 404


def test_a_study_shared_with_a_group_is_in_the_list_of_its_members(
    shared: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    strangers = create_group("Other lab", by=mallory)
    lab = create_group("Lab of Rex", by=rex)
    path = reverse("studies:sharing", args=[shared.pk])
    owner, other = sign_in(rex), sign_in(mallory)

    page = owner.get(path).content.decode()
    assert ("Lab of Rex" in page, "Other lab" in page) == (True, False)
    refused = owner.post(path, {"group": strangers.pk, "role": "reader"})
    assert refused.status_code == 422
    assert not Share.objects.exists()
    both = owner.post(path, {"group": lab.pk, "name": "mallory", "role": "reader"})
    assert "Write a name or choose a group, not both." in both.content.decode()

    owner.post(path, {"group": lab.pk, "role": "reviewer"})
    assert "Of Rex" not in other.get("/studies/").content.decode()
    Membership.objects.create(group=lab, person=mallory)
    assert "shared with Lab of Rex" in other.get("/studies/").content.decode()
    assert "Of Rex" in other.get(f"/studies/?group={lab.pk}").content.decode()
    assert (
        "No study is shared with Other lab." in other.get(f"/studies/?group={strangers.pk}").content.decode()
    )
    assert f"/studies/?group={lab.pk}" in other.get("/home/").content.decode()
    assert may(mallory, Permission.REVIEW, shared)
    remove_member(lab, mallory.pk)
    assert not readable_studies_of(mallory).exists()


def test_a_share_of_before_roles_becomes_one_that_allows_the_same(
    shared: Study, mallory: User, ada: User
) -> None:
    executor = MigrationExecutor(connection)
    try:
        shares = executor.migrate([("studies", "0010_factors")]).apps.get_model("studies", "Share").objects
        shares.create(study_id=shared.pk, person_id=mallory.pk, may_change=True)
        shares.create(study_id=shared.pk, person_id=ada.pk, may_change=False)
    finally:
        executor.loader.build_graph()
        executor.migrate(executor.loader.graph.leaf_nodes())  # later ones of other apps went back, too

    everything_but_sharing = set(Permission) - {Permission.SHARE}
    assert granted_by(shared.shares.filter(person=mallory)) == everything_but_sharing
    assert granted_by(shared.shares.filter(person=ada)) == {Permission.READ}


def test_tags_filter_the_list(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    first, _second = make_study(title="First"), make_study({"b": 1}, title="Second")
    client = sign_in(rex)
    path = reverse("studies:tags", args=[first.pk])

    client.post(path, {"tags": " Pilot,  pilot, two  words ,,"})
    first.refresh_from_db()
    assert first.tags == ["pilot", "two words"]
    narrowed = client.get("/studies/?tag=two+words").content.decode()
    assert ("First" in narrowed, "Second" in narrowed) == (True, False)
    assert "No study has the tag" in client.get("/studies/?tag=x").content.decode()

    long = client.post(path, {"tags": "pilot, " + "x" * 31})
    many = client.post(path, {"tags": ",".join(map(str, range(11)))}).content.decode()
    first.refresh_from_db()
    assert long.status_code == 422
    assert "has 31 letters; a tag has up to 30" in long.content.decode()
    assert f'value="pilot, {"x" * 31}"' in long.content.decode()  # to be corrected, not typed again
    assert "These are 11 tags" in many
    assert first.tags == ["pilot", "two words"]
    assert services.clone(first, owner=rex).tags == ["pilot", "two words"]


def test_the_api_shares_and_tags_by_the_same_rules(shared: Study, rex: User, mallory: User) -> None:
    browser = Client()

    def call(method: str, who: User, path: str, body: object = None) -> tuple[int, Any]:
        answer = browser.generic(
            method, f"/api/studies/{shared.code}/{path}", json.dumps(body) if body is not None else "",
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {credentials.create_token(who, 'test')}",
        )  # fmt: skip
        return answer.status_code, answer.json()

    lab = create_group("Lab", by=rex)
    reader = {"role": "reader", "may_bundle": False, "may_pay": False}
    assert call("PUT", mallory, "shares/mallory", {"role": "editor"})[0] == 404
    assert call("GET", mallory, "tags")[0] == 404
    assert call("PUT", rex, "shares/nobody", {"role": "reader"})[0] == 422
    status, said = call("PUT", rex, "shares/rex", {"role": "reader"})
    assert (status, said["detail"]) == (422, "“rex” is the owner of this study.")
    assert call("PUT", rex, "shares/mallory", {"role": "own"})[0] == 422
    assert call("GET", rex, "shares") == (200, [])

    person = {"name": "mallory", "group": None} | reader
    assert call("PUT", rex, "shares/mallory", {"role": "reader"}) == (200, person)
    # Who reads it may neither share it on nor tag it.
    assert call("GET", mallory, "shares")[0] == 404
    assert call("PUT", mallory, "tags", ["mine"])[0] == 404
    assert call("PUT", rex, "shares/mallory", {"role": "editor"})[0] == 200
    assert may(mallory, Permission.CHANGE, shared)
    assert call("GET", mallory, "payments")[0] == 404
    assert call("PUT", rex, "shares/mallory", {"role": "editor", "may_pay": True})[1]["may_pay"]
    assert call("GET", mallory, "payments")[0] == 200
    assert call("PUT", mallory, "tags", [" Pilot ", "pilot", "2026"]) == (200, ["pilot", "2026"])
    assert call("GET", mallory, "shares")[0] == 404  # whoever works on it does not own it
    status, said = call("PUT", rex, "tags", ["x" * 31])
    assert (status, "has 31 letters; a tag has up to 30" in said["detail"]) == (422, True)
    assert call("GET", rex, "tags") == (200, ["pilot", "2026"])

    assert call("DELETE", rex, "shares/mallory") == (200, [])
    assert not readable_studies_of(mallory).exists()

    group = {"name": None, "group": {"id": lab.pk, "name": "Lab"}} | reader
    strangers = create_group("Other", by=mallory)
    assert call("PUT", rex, f"group-shares/{strangers.pk}", {"role": "reader"})[0] == 404
    assert call("PUT", rex, f"group-shares/{lab.pk}", {"role": "reader"}) == (200, group)
    assert call("GET", rex, "shares") == (200, [group])
    assert call("DELETE", rex, f"group-shares/{lab.pk}") == (200, [])
