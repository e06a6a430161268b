"""A study is its owner's until it is shared, to be read or changed; and the tags that narrow lists."""

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.crowd.models import Worker
from turnwise.studies import services
from turnwise.studies.models import Share, Study
from turnwise.studies.queries import may_change, readable_studies_of, studies_of

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
            "workspace:overview", "reports:study", "reports:stamp", "labels:dialogues", "exports:turns_csv",
            "exports:turns_jsonl", "monitoring:monitor", "studies:edit", "studies:opening", "studies:sharing",
            "crowd:participants", "crowd:payments", "crowd:panels", "crowd:preview", "rehearsals:rehearsal",
            "exports:bundle",
        )
    }  # fmt: skip
    named["labels:transcript"] = reverse("labels:transcript", args=[dialogue.public_id])
    named["reports:chart_svg"] = reverse("reports:chart_svg", args=[study.pk, "scores"])
    return named


FOR_READERS = {
    "workspace:overview", "reports:study", "reports:stamp", "reports:chart_svg", "labels:dialogues",
    "labels:transcript", "exports:turns_csv", "exports:turns_jsonl",
}  # fmt: skip


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
    services.share(shared, "mallory", may_change=False)
    client = sign_in(mallory)

    assert opened(client, shared) == FOR_READERS
    assert changed(client, shared) == [404] * 5
    shared.refresh_from_db()
    assert (shared.state, shared.tags, Study.objects.count()) == ("open", [], 1)
    for name in FOR_READERS - {
        "reports:stamp",
        "reports:chart_svg",
        "exports:turns_csv",
        "exports:turns_jsonl",
    }:
        page = client.get(pages(shared)[name]).content.decode()
        assert page.count('method="post"') == 1, name  # signing out
        links = set(re.findall(rf'href="(/studies/{shared.pk}/[^"?#]*)', page)) - {
            f"/studies/{shared.pk}/report/"
        }
        dead = [link for link in links if not link.endswith(".pdf") and client.get(link).status_code == 404]
        assert dead == [], name
    assert "Of Rex" in client.get("/studies/").content.decode()
    Worker.objects.update(panel="pid", panel_id="p-7")  # nobody learns here whom a panel calls so
    named = f"{pages(shared)['labels:dialogues']}?worker="
    assert "No conversation matches." in client.get(f"{named}p-7").content.decode()
    pseudonym = shared.participations.get().pseudonym
    assert "1 conversation." in client.get(named + pseudonym).content.decode()
    assert not may_change(mallory, shared)


def test_an_editor_of_a_study_does_everything_except_share(
    shared: Study, mallory: User, sign_in: SignIn
) -> None:
    services.share(shared, "mallory", may_change=True)
    client = sign_in(mallory)

    assert opened(client, shared) == set(pages(shared)) - {"studies:sharing"}
    assert changed(client, shared) == [302] * 5
    shared.refresh_from_db()
    assert (shared.state, shared.tags, shared.owner.username) == ("closed", ["new"], "rex")
    sharing = reverse("studies:sharing", args=[shared.pk])
    assert client.post(sharing, {"name": "ada", "role": "change"}).status_code == 404
    assert client.post(f"{sharing}stop/", {"person": mallory.pk}).status_code == 404


def test_rehearsals_are_only_for_the_team(shared: Study, make_study: MakeStudy, mallory: User) -> None:
    rehearsal = make_study({"again": 1}, title="Rehearsal")
    Study.objects.filter(pk=rehearsal.pk).update(rehearsal_of=shared)

    services.share(shared, "mallory", may_change=False)
    assert set(readable_studies_of(mallory)) == {shared}
    services.share(shared, "mallory", may_change=True)
    assert set(studies_of(mallory)) == set(readable_studies_of(mallory)) == {shared, rehearsal}


def test_the_owner_shares_a_study_by_name_and_stops_sharing(
    shared: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    owner, other = sign_in(rex), sign_in(mallory)
    path, report = reverse("studies:sharing", args=[shared.pk]), reverse("reports:study", args=[shared.pk])

    wrong = owner.post(path, {"name": "malory", "role": "read"})
    own = owner.post(path, {"name": "rex", "role": "read"})
    none = owner.post(path, {"name": " ", "role": "read"})
    assert [answer.status_code for answer in (wrong, own, none)] == [422] * 3
    assert "Nobody signs in here as “malory”" in wrong.content.decode()
    assert "“rex” is the owner of this study." in own.content.decode()
    assert not Share.objects.exists()

    page = owner.post(path, {"name": "mallory", "role": "read"}, follow=True).content.decode()
    assert "mallory can now read it." in page
    assert other.get(report).status_code == 200
    owner.post(path, {"name": "mallory", "role": "change"})
    assert list(shared.shares.values_list("person__username", "may_change")) == [("mallory", True)]

    owner.post(f"{path}stop/", {"person": "x"})
    owner.post(f"{path}stop/", {"person": mallory.pk})
    assert other.get(report).status_code == 404


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

    assert call("PUT", mallory, "shares/mallory", {"role": "change"})[0] == 404
    assert call("GET", mallory, "tags")[0] == 404
    assert call("PUT", rex, "shares/nobody", {"role": "read"})[0] == 422
    status, said = call("PUT", rex, "shares/rex", {"role": "read"})
    assert (status, said["detail"]) == (422, "“rex” is the owner of this study.")
    assert call("PUT", rex, "shares/mallory", {"role": "own"})[0] == 422
    assert call("GET", rex, "shares") == (200, [])

    assert call("PUT", rex, "shares/mallory", {"role": "read"}) == (200, {"name": "mallory", "role": "read"})
    # Who reads it may neither share it on nor tag it.
    assert call("GET", mallory, "shares")[0] == 404
    assert call("PUT", mallory, "tags", ["mine"])[0] == 404
    assert call("PUT", rex, "shares/mallory", {"role": "change"})[0] == 200
    assert may_change(mallory, shared)
    assert call("PUT", mallory, "tags", [" Pilot ", "pilot", "2026"]) == (200, ["pilot", "2026"])
    assert call("GET", mallory, "shares")[0] == 404  # whoever works on it does not own it
    status, said = call("PUT", rex, "tags", ["x" * 31])
    assert (status, "has 31 letters; a tag has up to 30" in said["detail"]) == (422, True)
    assert call("GET", rex, "tags") == (200, ["pilot", "2026"])

    assert call("DELETE", rex, "shares/mallory") == (200, [])
    assert not readable_studies_of(mallory).exists()
