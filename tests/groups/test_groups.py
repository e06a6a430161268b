"""Groups of accounts: members, invitations by link, what each may do, and what strangers see of them."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from tests.conftest import MakeStudy
from tests.planted import SignIn
from turnwise.accounts import credentials
from turnwise.accounts.models import Event, User
from turnwise.groups.models import Group, GroupInvitation, Membership
from turnwise.groups.services import create_group
from turnwise.studies.models import Share, Study
from turnwise.studies.queries import readable_studies_of

pytestmark = pytest.mark.django_db

NOBODY = "This link is not valid"


@pytest.fixture
def lab(rex: User) -> Group:
    return create_group("Lab of Rex", by=rex)


def invited(admin: Client, group: Group, **sent: str) -> str:
    """The path of a link that an admin of the group makes."""
    page = admin.post(f"/groups/{group.pk}/invite/", {"whom": "Mallory", **sent}).content.decode()
    (path,) = re.findall(r'value="http://testserver(/groups/join/[^"]+)"', page)
    return str(path)


def roles(group: Group) -> dict[str, bool]:
    return dict(group.memberships.values_list("person__username", "is_admin"))


def test_a_group_begins_with_its_admin_and_members_come_by_a_link_that_works_once(
    rex: User, mallory: User, ada: User, sign_in: SignIn
) -> None:
    admin, other = sign_in(rex), sign_in(mallory)
    for name, says in {" ": "Write a name for the group", "x" * 81: "up to 80. Shorten it"}.items():
        answer = admin.post("/groups/", {"name": name})
        assert (answer.status_code, says in answer.content.decode()) == (422, True)
    made = admin.post("/groups/", {"name": "  Lab  of Rex "}, follow=True).content.decode()
    lab = Group.objects.get()
    assert (lab.name, roles(lab), "Invite its members." in made) == ("Lab of Rex", {"rex": True}, True)

    nameless = admin.post(f"/groups/{lab.pk}/invite/", {"whom": " "})
    assert (nameless.status_code, "Say who the link is for" in nameless.content.decode()) == (422, True)
    path = invited(admin, lab)
    assert Client().get(path).headers["Location"].startswith("/sign-in/")  # then it leads back
    page = other.get(path)
    assert "You join as mallory" in page.content.decode()
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert "You are a member of Lab of Rex." in other.post(path, follow=True).content.decode()
    assert roles(lab) == {"rex": True, "mallory": False}
    assert 'data-label="Members">2<' in admin.get("/groups/").content.decode()
    again = sign_in(ada).post(path)
    assert (again.status_code, NOBODY in again.content.decode()) == (404, True)

    other.post(invited(admin, lab, role="admin"))  # one who is a member becomes an admin
    assert roles(lab)["mallory"]
    assert list(Event.objects.order_by("pk").values_list("name", "action")) == [
        ("rex", "groups:groups"), ("rex", "groups:invite"), ("mallory", "groups:join"),
        ("rex", "groups:invite"), ("mallory", "groups:join"),
    ]  # fmt: skip


def test_a_link_ends_when_revoked_or_expired_or_its_maker_may_no_longer_invite(
    lab: Group, rex: User, mallory: User, ada: User, sign_in: SignIn
) -> None:
    admin, other = sign_in(rex), sign_in(mallory)
    revoked, expired, demoted = (invited(admin, lab) for _ in range(3))
    first, second, _third = GroupInvitation.objects.order_by("pk")
    admin.post(f"/groups/{lab.pk}/invitations/{first.pk}/revoke/")
    GroupInvitation.objects.filter(pk=second.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    Membership.objects.create(group=lab, person=ada, is_admin=True)
    sign_in(ada).post(f"/groups/{lab.pk}/members/{rex.pk}/", {"what": "make_member"})

    assert [other.post(path).status_code for path in (revoked, expired, demoted)] == [404] * 3
    assert "mallory" not in roles(lab)
    assert admin.post(f"/groups/{lab.pk}/invite/", {"whom": "Eve"}).status_code == 404  # no longer an admin


def test_an_invitation_is_mailed_where_the_installation_sends_mail(
    lab: Group, rex: User, sign_in: SignIn, settings: Settings
) -> None:
    settings.MAIL_FROM = "turnwise@example.org"
    admin = sign_in(rex)

    wrong = admin.post(f"/groups/{lab.pk}/invite/", {"whom": "Eve", "email": "eve"})
    assert (wrong.status_code, "“eve” is not an e-mail address" in wrong.content.decode()) == (422, True)
    assert not GroupInvitation.objects.exists()
    page = admin.post(f"/groups/{lab.pk}/invite/", {"whom": "Eve", "email": "eve@example.org"})
    (letter,) = outbox.outbox
    assert "It was mailed to eve@example.org." in page.content.decode()
    assert (letter.to, "/groups/join/" in letter.body) == (["eve@example.org"], True)


def test_a_group_keeps_an_admin_and_members_leave_or_are_removed(
    lab: Group, make_study: MakeStudy, rex: User, mallory: User, sign_in: SignIn
) -> None:
    study = make_study()
    Study.objects.update(owner=rex)
    Share.objects.create(study=study, group=lab, role="reader")
    Membership.objects.create(group=lab, person=mallory)
    admin, other = sign_in(rex), sign_in(mallory)

    for path, sent in (
        (f"/groups/{lab.pk}/leave/", {}),
        (f"/groups/{lab.pk}/members/{rex.pk}/", {"what": "make_member"}),
        (f"/groups/{lab.pk}/members/{rex.pk}/", {"what": "remove"}),
    ):
        says = admin.post(path, sent, follow=True).content.decode()
        assert "rex is the last admin of “Lab of Rex”. Make another member an admin first" in says
    assert roles(lab) == {"rex": True, "mallory": False}
    for sent in ({"what": "remove"}, {"what": "make_admin"}):
        assert other.post(f"/groups/{lab.pk}/members/{rex.pk}/", sent).status_code == 404  # a mere member
    stranger = User.objects.create_user("eve")
    answer = admin.post(f"/groups/{lab.pk}/members/{stranger.pk}/", {"what": "remove"}, follow=True)
    assert "This person is not a member" in answer.content.decode()

    assert readable_studies_of(mallory).exists()
    other.post(f"/groups/{lab.pk}/leave/")
    assert not readable_studies_of(mallory).exists()
    Membership.objects.create(group=lab, person=mallory, is_admin=True)
    admin.post(f"/groups/{lab.pk}/leave/")
    assert roles(lab) == {"mallory": True}


def test_deleting_a_group_ends_its_shares_keeps_the_studies_and_can_be_undone(
    lab: Group, make_study: MakeStudy, rex: User, mallory: User, sign_in: SignIn
) -> None:
    study = make_study()
    Study.objects.update(owner=rex)
    Share.objects.create(study=study, group=lab, role="editor")
    Membership.objects.create(group=lab, person=mallory)
    admin = sign_in(rex)

    said = admin.get(f"/groups/{lab.pk}/").content.decode()
    assert "1 study is shared with it: its members no longer see that study through the group." in said
    assert sign_in(mallory).post(f"/groups/{lab.pk}/delete/").status_code == 404
    page = admin.post(f"/groups/{lab.pk}/delete/", follow=True).content.decode()
    assert not readable_studies_of(mallory).exists()
    assert (Study.objects.count(), Share.objects.count(), Membership.objects.count()) == (1, 0, 0)

    (undo,) = re.findall(r'action="(/deleted/\d+/[^"]*)"', page)
    admin.post(undo)
    assert readable_studies_of(mallory).exists()
    assert roles(Group.objects.get()) == {"rex": True, "mallory": False}


def test_people_of_other_labs_see_nothing_of_a_group(
    lab: Group, make_study: MakeStudy, rex: User, mallory: User, ada: User, sign_in: SignIn
) -> None:
    study = make_study(title="Secret study")
    Study.objects.update(owner=rex)
    Share.objects.create(study=study, group=lab, role="editor", may_pay=True)
    theirs = create_group("Lab of Rex", by=mallory)  # the same name tells nobody anything
    stranger = sign_in(mallory)

    paths = ["", "rename/", "invite/", "leave/", "delete/", f"members/{rex.pk}/"]
    for path in paths:
        for method in (stranger.get, stranger.post):
            assert method(f"/groups/{lab.pk}/{path}").status_code in (404, 405), path
    for path in ("/groups/", "/studies/", f"/studies/?group={lab.pk}", "/home/", f"/groups/{theirs.pk}/"):
        page = stranger.get(path).content.decode()
        assert "Secret study" not in page, path
        assert f"/groups/{lab.pk}/" not in page, path
    assert stranger.get(study.get_absolute_url()).status_code == 404
    token = credentials.create_token(mallory, "test")
    answer = Client().get("/api/groups", headers={"Authorization": f"Bearer {token}"})
    assert [each["id"] for each in answer.json()] == [theirs.pk]
    assert sign_in(ada).get(f"/groups/{lab.pk}/").status_code == 200  # an admin of the installation


def test_the_api_does_the_same(lab: Group, rex: User, mallory: User) -> None:
    browser = Client()

    def call(method: str, who: User, path: str, body: object = None) -> tuple[int, Any]:
        answer = browser.generic(
            method, f"/api/groups{path}", json.dumps(body) if body is not None else "",
            content_type="application/json",
            HTTP_AUTHORIZATION=f"Bearer {credentials.create_token(who, 'test')}",
        )  # fmt: skip
        return answer.status_code, answer.json()

    status, made = call("POST", rex, "", {"name": "Second lab"})
    assert (status, [each["name"] for each in made["members"]]) == (201, ["rex"])
    path = f"/{made['id']}"
    assert call("POST", rex, "", {"name": " "})[0] == 422
    assert call("PATCH", rex, path, {"name": "Renamed"})[1]["name"] == "Renamed"
    assert call("GET", mallory, path)[0] == 404

    status, invitation = call("POST", rex, f"{path}/invitations", {"whom": "Mallory"})
    assert status == 201
    secret = invitation["link"].split("/")[-2]
    assert secret not in json.dumps(call("GET", rex, f"{path}/invitations"))
    status, refused = call("POST", mallory, "/join", {"secret": "x"})
    assert (status, refused["errors"][0]["field"]) == (422, "secret")
    assert call("POST", mallory, "/join", {"secret": secret})[1]["name"] == "Renamed"
    assert call("PATCH", mallory, path, {"name": "Mine"})[0] == 404
    assert call("PUT", mallory, f"{path}/members/mallory", {"is_admin": True})[0] == 404

    status, refused = call("DELETE", rex, f"{path}/members/rex")
    assert (status, "last admin" in refused["detail"]) == (409, True)
    assert call("PUT", rex, f"{path}/members/mallory", {"is_admin": True})[0] == 200
    status, left = call("DELETE", rex, f"{path}/members/rex")
    assert (status, [each["id"] for each in left]) == (200, [lab.pk])
    status, deleted = call("DELETE", mallory, path)
    assert (status, deleted["what"]) == (200, "Group Renamed")
    assert call("GET", mallory, "") == (200, [])
