"""A study's bundle on its page: requested, made in a detached process, downloaded and deleted."""

import time
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue, MakeStudy
from tests.desks import judge
from tests.planted import SignIn, ask_instead, talked
from tests.snapshots import Snapshot
from turnwise.accounts.models import User
from turnwise.crowd.places.ending import delete_workers
from turnwise.exports import bundle_jobs
from turnwise.exports.tasks import start_bundle_process
from turnwise.judging.items import subjects
from turnwise.live.jobs import BUNDLES, exclusive_lock
from turnwise.privacy.erasure import erase_due
from turnwise.privacy.withdrawal import withdraw
from turnwise.studies import bundles
from turnwise.studies.models import Bundle, BundlePart, Study
from turnwise.studies.sharing.services import share_with_person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_same_database")]


@pytest.fixture
def told(make_study: MakeStudy) -> Study:
    """Rex's, with two conversations."""
    study = make_study({"scripty": 8}, min_turns=2, max_turns=8)
    talked(study, [(True, True), (False, False)])
    talked(study, [(True, False)])
    return study


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return Snapshot()


@pytest.fixture
def stored(snapshot: Snapshot, transactional_db: None, request: pytest.FixtureRequest) -> Bundle:
    """The bundle of such a study, made once for all tests that begin with it. It comes before other rows."""
    if not snapshot.put_back():
        made(request.getfixturevalue("told"), request.getfixturevalue("rex"))
        snapshot.take()
    return Bundle.objects.select_related("study__owner").get()


def owner_of(bundle: Bundle) -> User:
    assert bundle.study.owner
    return bundle.study.owner


def address(study: Study) -> str:
    return f"/studies/{study.pk}/bundle/"


def made(study: Study, by: User) -> Bundle:
    bundle, _is_new = bundle_jobs.request_bundle(study, by=by)
    bundle_jobs.make(bundle.pk)
    bundle.refresh_from_db()
    return bundle


def page_of(client: Client, study: Study) -> str:
    return client.get(address(study)).content.decode()


def test_from_the_button_to_an_archive_like_the_commands(
    told: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    client = sign_in(rex)
    stamps = [client.get(f"{address(told)}stamp/").json()["stamp"]]
    assert f'href="{address(told)}"' in client.get(f"/studies/{told.pk}/report/").content.decode()
    assert f'action="{address(told)}make/"' in page_of(client, told)

    shown = client.post(f"{address(told)}make/", follow=True).content.decode()
    stamps += [client.get(f"{address(told)}stamp/").json()["stamp"]]

    assert "The bundle is about to be made." in shown
    assert f'action="{address(told)}make/"' not in shown
    assert client.get(f"/studies/{told.pk}/bundle.zip").headers["Location"] == address(told)

    assert start_bundle_process(Bundle.objects.get().pk).wait(120) == 0
    stamps += [client.get(f"{address(told)}stamp/").json()["stamp"]]

    assert len(set(stamps)) == 3
    shown = page_of(client, told)
    assert "Ready to download" in shown
    assert "by rex" in shown
    assert f'href="/studies/{told.pk}/bundle.zip"' in shown
    response = client.get(f"/studies/{told.pk}/bundle.zip")
    archive = tmp_path / "downloaded.zip"
    archive.write_bytes(response.getvalue())
    assert response["Content-Type"] == "application/zip"
    assert f'filename="turnwise-{told.code}.zip"' in response["Content-Disposition"]
    assert int(response["Content-Length"]) == archive.stat().st_size
    assert recompute(archive).differences == []
    call_command("bundle", str(told.pk), output=tmp_path / "commanded.zip")
    assert archive.read_bytes() == (tmp_path / "commanded.zip").read_bytes()


def test_an_archive_of_several_parts_is_downloaded_whole(
    told: Study, rex: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bundle_jobs, "PART_BYTES", 10_000)

    bundle = made(told, rex)

    assert bundle.parts.count() == -(-bundle.size // 10_000) > 3
    call_command("bundle", str(told.pk), output=tmp_path / "commanded.zip")
    assert b"".join(bundle_jobs.chunks(bundle)) == (tmp_path / "commanded.zip").read_bytes()


def test_the_page_shows_how_many_rows_are_written(told: Study, rex: User, sign_in: SignIn) -> None:
    made(told, rex)
    first = Bundle.objects.get()
    heard = bundle_jobs.progress(first)
    under_way, _is_new = bundle_jobs.request_bundle(told, by=rex)

    with exclusive_lock(BUNDLES, under_way.pk):
        Bundle.objects.filter(pk=under_way.pk).update(begun_at=timezone.now())
        told_of: list[tuple[str, int, int]] = []
        with (Path("/dev/null")).open("wb") as nowhere:
            bundle_jobs.write_bundle(told.pk, nowhere, lambda *heard: told_of.append((*heard, 0, 0)[:3]))
        bundle_jobs.save_progress(under_way, *told_of[-1])
        shown = page_of(sign_in(rex), told)

    assert heard["stage"] == "storing"
    written = [(done, of) for stage, done, of in told_of if stage == "adding rows"]
    assert written[0][0] == 0
    assert written == sorted(written)
    assert {of for _done, of in written} == {written[-1][0]}  # what was counted before is what was written
    assert written[-1][0] > 10
    assert "The bundle is being made." in shown
    assert f"{written[-1][0]} of {written[-1][1]} rows are written" in shown
    assert "The previous bundle" in shown  # the last one can be downloaded meanwhile


def test_newer_results_are_announced_and_the_new_bundle_replaces_the_old(
    stored: Bundle, sign_in: SignIn
) -> None:
    told, rex = stored.study, owner_of(stored)
    client, first = sign_in(rex), stored
    fresh = "newer results than this bundle"
    before = client.get(f"{address(told)}stamp/").json()["stamp"]
    assert fresh not in page_of(client, told)

    talked(told, [(True, True)])

    assert fresh in page_of(client, told)
    assert client.get(f"{address(told)}stamp/").json()["stamp"] != before
    second = made(told, rex)
    assert fresh not in page_of(client, told)
    assert list(Bundle.objects.all()) == [second]
    assert not BundlePart.objects.filter(bundle=first.pk).exists()


def test_a_request_while_the_bundle_is_made_returns_the_same_bundle(
    told: Study, rex: User, ada: User, make_study: MakeStudy
) -> None:
    found: list[tuple[Bundle, bool]] = []

    def ask(person: User) -> None:
        found.append(bundle_jobs.request_bundle(told, by=person))
        connection.close()

    threads = [Thread(target=ask, args=(person,)) for person in (rex, ada, rex, ada)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len({bundle.pk for bundle, _is_new in found}) == 1
    assert sorted(is_new for _bundle, is_new in found) == [False, False, False, True]
    bundle_jobs.request_bundle(make_study({"second": 1}), by=rex)
    with pytest.raises(ValidationError, match="Other bundles are being made"):
        bundle_jobs.request_bundle(make_study({"third": 1}), by=rex)


@pytest.mark.usefixtures("one_minute")
def test_requests_of_bundles_are_rate_limited(told: Study, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    assert [client.post(f"{address(told)}make/").status_code for _ in range(7)] == [302] * 6 + [429]


def test_the_page_says_why_a_bundle_failed_and_it_can_be_made_again(
    told: Study, rex: User, sign_in: SignIn
) -> None:
    ask_instead(told, "no-such-set")
    bundle, _is_new = bundle_jobs.request_bundle(told, by=rex)

    assert start_bundle_process(bundle.pk).wait(120) == 0

    ask_instead(told, "ssa")
    shown = page_of(sign_in(rex), told)
    assert "The bundle could not be made." in shown
    assert "no-such-set" in shown
    assert "Make it again" in shown
    assert made(told, rex).made_at
    assert Bundle.objects.count() == 1


def test_a_full_disk_leaves_no_partial_bundle(
    told: Study, rex: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_jobs, "MIN_FREE_BYTES", 1 << 60)

    bundle = made(told, rex)

    assert "is nearly full" in bundle.reason
    assert not BundlePart.objects.exists()


def test_a_bundle_whose_process_died_or_never_started_can_be_made_again(
    told: Study, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    died, _is_new = bundle_jobs.request_bundle(told, by=rex)
    with exclusive_lock(BUNDLES, died.pk):
        Bundle.objects.filter(pk=died.pk).update(begun_at=timezone.now())
        assert "The bundle is being made." in page_of(client, told)
    BundlePart.objects.create(bundle=died, number=0, content=b"PK")

    assert "Its process ended unexpectedly" in page_of(client, told)
    assert not BundlePart.objects.exists()
    late, is_new = bundle_jobs.request_bundle(told, by=rex, now=timezone.now() - timedelta(minutes=6))
    assert is_new
    assert "No process started to make it" in page_of(client, told)
    bundle_jobs.make(late.pk)  # its message comes at last, and nobody waits for it
    assert not Bundle.objects.filter(made_at__isnull=False).exists()
    assert made(told, rex).made_at


@pytest.mark.usefixtures("stored")
def test_a_bundle_is_deleted_after_a_day() -> None:
    bundle_jobs.delete_old(now=timezone.now() + timedelta(hours=23))
    assert BundlePart.objects.exists()
    bundle_jobs.delete_old(now=timezone.now() + timedelta(hours=25))

    assert not Bundle.objects.exists()
    assert not BundlePart.objects.exists()


# --- what is taken back takes the bundles along ------------------------------------------------------


def test_a_withdrawal_deletes_all_stored_bundles_that_quote_the_worker(
    told: Study, rex: User, make_queue: MakeQueue, make_study: MakeStudy
) -> None:
    readers, unrelated = make_queue(), make_study({"other": 1})
    subjects.add_turns(readers, told, language="en")
    judge(readers, lambda _item: {"sensible": False})
    for each in (told, readers, unrelated):
        made(each, rex)

    withdraw(told.participations.earliest("pk").pk)

    assert [each.study for each in Bundle.objects.all()] == [unrelated]
    for each in (told, readers):
        made(each, rex)
    withdraw(readers.participations.get().pk)  # what they judged is in the talks' bundle, too
    assert [each.study for each in Bundle.objects.all()] == [unrelated]


def test_a_deletion_in_one_study_keeps_the_bundles_of_other_studies(
    told: Study, rex: User, make_queue: MakeQueue, make_study: MakeStudy
) -> None:
    first, second, unrelated = make_queue(), make_queue(), make_study({"other": 1})
    for readers in (first, second):
        subjects.add_turns(readers, told, language="en")
        judge(readers, lambda _item: {"sensible": False})
    for each in (told, first, second, unrelated):
        made(each, rex)

    # Whoever judged in one of them may be told of wherever the same conversations are.
    delete_workers([first.participations.get().worker_id])
    assert [each.study for each in Bundle.objects.all()] == [unrelated]
    for each in (told, first, second):
        made(each, rex)
    delete_workers([told.participations.earliest("pk").worker_id])
    assert [each.study for each in Bundle.objects.all()] == [unrelated]


def test_a_bundle_that_quotes_further_studies_is_not_stored(
    told: Study, rex: User, make_queue: MakeQueue
) -> None:
    readers = make_queue()
    bundle, _is_new = bundle_jobs.request_bundle(readers, by=rex)
    subjects.add_turns(readers, told, language="en")

    bundle_jobs.make(bundle.pk)

    bundle.refresh_from_db()
    assert bundle.made_at is None
    assert "Make the bundle again." in bundle.reason
    assert not BundlePart.objects.exists()


def test_redacting_erasing_and_deleting_delete_the_bundle(stored: Bundle, sign_in: SignIn) -> None:
    told, rex = stored.study, owner_of(stored)
    client = sign_in(rex)

    client.post(f"/studies/{told.pk}/privacy/texts/redact/", {"own": "Wanda"})
    assert not Bundle.objects.exists()
    made(told, rex)
    assert erase_due(now=timezone.now() + timedelta(days=400)) == 2
    assert not Bundle.objects.exists()
    made(told, rex)
    delete_workers([told.participations.earliest("pk").worker_id])
    assert not Bundle.objects.exists()
    made(told, rex)
    with transaction.atomic():
        bundles.delete_bundles_quoting([told.pk])
        transaction.set_rollback(True)
    assert Bundle.objects.exists()  # what is not taken back after all keeps it


def test_a_withdrawal_ends_the_making_of_a_bundle(told: Study, rex: User) -> None:
    bundle, _is_new = bundle_jobs.request_bundle(told, by=rex)
    process = start_bundle_process(bundle.pk)
    while not Bundle.objects.filter(begun_at__isnull=False).exists():
        assert process.poll() is None
        time.sleep(0.01)

    withdraw(told.participations.earliest("pk").pk)

    assert process.wait(120) == 0
    assert not Bundle.objects.exists()
    assert not BundlePart.objects.exists()


def test_no_bundle_starts_until_a_withdrawal_is_done(told: Study, rex: User) -> None:
    asked: list[int] = []

    def ask() -> None:
        asked.append(bundle_jobs.request_bundle(told, by=rex)[0].pk)
        connection.close()

    waiting = Thread(target=ask)
    with transaction.atomic():
        withdraw(told.participations.earliest("pk").pk)
        waiting.start()
        waiting.join(0.5)
        assert asked == []
    waiting.join(30)

    assert list(Bundle.objects.values_list("pk", flat=True)) == asked


def test_a_download_of_a_deleted_bundle_is_aborted(stored: Bundle) -> None:
    bundles.delete_bundles_quoting([stored.study.pk])

    with pytest.raises(RuntimeError, match="was deleted while it was downloaded"):
        list(bundle_jobs.chunks(stored))


def test_bundles_are_only_for_the_team(stored: Bundle, ada: User, mallory: User, sign_in: SignIn) -> None:
    told = stored.study
    readings = [address(told), f"{address(told)}stamp/", f"/studies/{told.pk}/bundle.zip"]
    stranger = sign_in(mallory)

    def statuses(client: Client) -> list[int]:
        found = []
        for each in readings:
            answer = client.get(each)
            found.append(answer.status_code)
            answer.close()
        return [*found, client.post(f"{address(told)}make/").status_code]

    assert statuses(Client()) == [302] * 4
    assert Client().get(readings[2]).headers["Location"].startswith("/sign-in/")
    assert statuses(stranger) == [404] * 4
    share_with_person(told, "mallory", "reader")
    assert statuses(stranger) == [404] * 4
    share_with_person(told, "mallory", "editor", may_pay=True)
    assert statuses(stranger) == [200, 200, 200, 302]
    assert statuses(sign_in(ada)) == [200, 200, 200, 302]
