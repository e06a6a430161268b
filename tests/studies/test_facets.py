"""What a researcher says that bots are: the page, the API, the report, the bundle."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, figures, talked
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.studies.facets import facets_of
from turnwise.studies.models import Study


@pytest.mark.django_db
def test_invalid_facets_are_named_and_valid_ones_are_stored(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study: Study = make_study({"ann": 4, "bob": 4})
    client, page = sign_in(rex), f"/studies/{study.pk}/facets/"

    refused = client.post(page, {"bot-ann": "architecture", "bot-bob": "data=Reddit, data=Cornell"})
    assert refused.status_code == 422
    shown = refused.content.decode()
    assert "“architecture” is not a facet. Write name=level" in shown
    assert "“data” appears twice" in shown
    many = client.post(page, {"bot-ann": "a=1, b=2, c=3", "bot-bob": "d=4, e=<b>"})
    assert "These are 5 facets: a, b, c, d, e. A study may have 4" in many.content.decode()
    assert facets_of(study) == {"ann": {}, "bob": {}}

    client.post(page, {"bot-ann": "data=Reddit , kind = <i>big</i>", "bot-bob": "data=Cornell"})

    assert facets_of(study) == {"ann": {"data": "Reddit", "kind": "<i>big</i>"}, "bob": {"data": "Cornell"}}
    assert "kind=&lt;i&gt;big" in client.get(page).content.decode()


@pytest.mark.django_db
def test_the_api_reads_and_writes_facets(
    make_study: MakeStudy, rex: User, mallory: User, client: object
) -> None:
    study: Study = make_study({"ann": 4})
    address, browser = f"/api/studies/{study.code}/facets", Client()

    def put(who: User, body: object) -> tuple[int, str]:
        token = credentials.create_token(who, "test")
        answer = browser.put(
            address, json.dumps(body), content_type="application/json", HTTP_AUTHORIZATION=f"Bearer {token}"
        )
        return answer.status_code, answer.content.decode()

    assert put(mallory, {"ann": {"data": "Reddit"}})[0] == 404
    status, said = put(rex, {"zoe": {"data": "Reddit"}})
    assert (status, "is not a bot of this study. It has ann." in said) == (422, True)
    assert put(rex, {"ann": {"data": "x" * 61}})[0] == 422
    assert put(rex, {"ann": {"data": "Reddit", "kind": ""}}) == (200, '{"ann": {"data": "Reddit"}}')
    assert facets_of(study) == {"ann": {"data": "Reddit"}}


@pytest.mark.django_db(transaction=True)
def test_the_report_follows_and_the_bundle_gives_the_same(
    make_study: MakeStudy, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study: Study = make_study({"ann": 4, "bob": 4}, min_turns=2, max_turns=8)
    for n in range(6):
        talked(study, [(True, n % 2 == 0), (n % 3 > 0, n % 3 > 0)])
    client = sign_in(rex)
    before = Study.objects.get(pk=study.pk).results_version
    client.post(f"/studies/{study.pk}/facets/", {"bot-ann": "data=Reddit", "bot-bob": "data=Cornell"})
    assert Study.objects.get(pk=study.pk).results_version > before

    found = figures(computed(study))["facets"]
    page = client.get(f"/studies/{study.pk}/report/").content.decode()

    assert found["names"] == ["data"]
    assert found["scores"][1]["anova"]["scores"] == 6
    for words in ("By facets of the bots", "F, type III", "Cornell"):
        assert words in page
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    assert recompute(tmp_path / "bundle.zip").differences == []
