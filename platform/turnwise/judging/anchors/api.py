"""REST API of anchor packs: make, list, rename and delete them, mix one into a queue or take it out."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.http import Http404
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Field, Router, Schema, Status

from evaluation.statistics.linking import FEWEST_ANCHORS
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.uploads_api import reading_a_file
from turnwise.judging.anchors import pack_changes, packs, study_anchors
from turnwise.judging.anchors.anchor_views import pack_attachment, random_seed, table_attachment
from turnwise.judging.anchors.pack_files import MOST_BYTES, import_pack
from turnwise.judging.anchors.packs import MOST_ANCHORS, Choice
from turnwise.judging.models import AnchorPack
from turnwise.judging.plan_api import study_with_queue
from turnwise.live.cursors import NEXT, BodyKey, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, file_answer, refusals_as_conflicts, takes_a_file
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_studies_of
from turnwise.trash.api import DeletionOut, deletion_out

router = Router(tags=["studies"])


class PackIn(Schema, extra="forbid"):
    """What of a study becomes an anchor pack."""

    title: str = Field(min_length=1, max_length=120, description="An existing name makes its next version.")
    question_set: str = Field(max_length=60, description="Key of the question set.")
    score: str = Field(max_length=60, description="Score over whose range the anchors are spread.")
    number: int = Field(20, ge=FEWEST_ANCHORS, le=MOST_ANCHORS, description="Number of anchors.")
    excluded: list[str] = Field([], max_length=1000, description="Systems whose items are left out.")
    seed: int | None = Field(
        None, ge=0, le=2**31, description="Chooses among equal possibilities; null: random."
    )


class PackOut(Schema):
    """A version of an anchor pack."""

    id: int
    title: str
    version: int = Field(description="Number of the version, from 1.")
    question_set: str = Field(description="Key of the question set by which its values are known.")
    spread_by: str = Field(description="Score over whose range the anchors are spread; empty: a file.")
    origin: str = Field(description="Where its values are from, in words.")
    anchors: int
    sha256: str = Field(description="Of its question set, texts and known values.")
    made_at: datetime


class AnchorOut(Schema):
    """An anchor with its texts and known values."""

    number: int
    subject: str = Field(description="turn, response, dialogue or context.")
    language: str
    system: str = Field(description="Name of its system in the earlier study.")
    said_before: list[str]
    text: str | None = Field(description="Null for a whole conversation or a context.")
    known: dict[str, dict[str, float]] = Field(
        description="By score: value, error (its standard error) and raters; shares from 0 to 1, or points."
    )


class WholePackOut(PackOut):
    """A pack with its anchors."""

    common_variance: dict[str, float] = Field(
        description="By score, variance of the mean of all anchors that their raters have in common."
    )
    items: list[AnchorOut]


class PacksOut(Schema):
    """A page of anchor packs."""

    items: list[PackOut]
    next: str | None = NEXT


class PackInStudyOut(Schema):
    """A pack in a queue, with its progress."""

    pack: PackOut
    anchors: int = Field(description="Its items in the queue.")
    judged: int
    wanted: int = Field(description="Judgments wanted, including those given.")


class AnchorsOut(Schema):
    """The packs whose anchors are in a queue."""

    items: list[PackInStudyOut]


class PackFileIn(Schema, extra="forbid"):
    """A file of a pack: JSON Lines, facts of the pack first, then an anchor in each line."""

    text: str = Field(min_length=1, description="The whole file.")


class PackNameIn(Schema, extra="forbid"):
    """A name for all versions of a pack."""

    title: str = Field(min_length=1, max_length=120)


class AddPackIn(Schema, extra="forbid"):
    """The pack to mix in."""

    pack: BodyKey = Field(description="Its `id` in GET /api/anchor-packs.")


@router.get("/anchor-packs", response=answers(PacksOut, 400))
def anchor_packs(
    request: AuthenticatedHttpRequest, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List your anchor packs, and those from studies that you may read."""
    found, following = page_of(packs.packs_of(request.user), "anchor packs", cursor, limit)
    return page([_pack(each) for each in found], following)


@router.post(
    "/anchor-packs",
    response=answers(PackOut, 429, status=201, has_body=True),
    openapi_extra=takes_a_file(MOST_BYTES),
)
def import_anchor_pack(request: AuthenticatedHttpRequest, sent: PackFileIn) -> Status[PackOut]:
    """Import a pack from a file, as GET /api/anchor-packs/ID/anchors.jsonl gives it or as you wrote it."""
    text = sent.text.removeprefix("\ufeff")
    if len(text.encode()) > MOST_BYTES:
        raise InvalidFieldsError({"text": ["The file is larger than 2\u00a0MB. Leave some anchors out."]})
    try:
        with reading_a_file(request):
            made = import_pack(text, owner=request.user, now=timezone.now())
    except ValidationError as error:
        raise InvalidFieldsError({"text": error.messages}) from None
    return Status(201, _pack(made))


@router.get(
    "/anchor-packs/{int:pack}/anchors.jsonl",
    response={404: None},
    openapi_extra=file_answer("application/jsonl"),
)
def anchor_pack_file(request: AuthenticatedHttpRequest, pack: PathKey) -> HttpResponseBase:
    """Download a pack as JSON Lines, which another installation can import."""
    return pack_attachment(request, get_object_or_404(packs.packs_of(request.user), pk=pack))


@router.get("/anchor-packs/{int:pack}", response=answers(WholePackOut, 404))
def one_anchor_pack(request: AuthenticatedHttpRequest, pack: PathKey) -> WholePackOut:
    """Get a pack with its texts and known values."""
    found = get_object_or_404(packs.packs_of(request.user), pk=pack)
    anchors = list(found.anchors.all())
    rows = [
        AnchorOut(
            number=each.number, subject=packs.subject_of(each), language=each.language, system=each.system,
            said_before=before, text=text, known=each.known,
        )
        for each, (before, text) in zip(anchors, packs.texts_of(anchors), strict=True)
    ]  # fmt: skip
    return WholePackOut(**_pack(found).dict(), common_variance=found.common_variance, items=rows)


@router.get(
    "/anchor-packs/{int:pack}/anchors.csv", response={404: None}, openapi_extra=file_answer("text/csv")
)
def anchor_pack_table(request: AuthenticatedHttpRequest, pack: PathKey) -> HttpResponseBase:
    """Download the anchors of a pack with their values as CSV, which no spreadsheet runs as formulas."""
    return table_attachment(request, get_object_or_404(packs.packs_of(request.user), pk=pack))


@router.patch("/anchor-packs/{int:pack}", response=answers(PackOut, 404, has_body=True))
def rename_anchor_pack(request: AuthenticatedHttpRequest, pack: PathKey, sent: PackNameIn) -> PackOut:
    """Rename all versions of your pack. Hashes and values stay, and what is published keeps the old name."""
    found = get_object_or_404(pack_changes.own_packs(request.user), pk=pack)
    try:
        pack_changes.rename_pack(found, sent.title)
    except ValidationError as error:
        raise InvalidFieldsError({"title": error.messages}) from None
    return _pack(packs.packs_of(request.user).get(pk=pack))


@router.delete("/anchor-packs/{int:pack}", response=answers(DeletionOut, 404, 409))
def delete_anchor_pack(request: AuthenticatedHttpRequest, pack: PathKey) -> DeletionOut:
    """Delete a version of your pack that no opened study uses; undone with …/deletions."""
    found = get_object_or_404(pack_changes.own_packs(request.user), pk=pack)
    with refusals_as_conflicts():
        deletion = pack_changes.delete_pack(found.pk, by=request.user)
    if deletion is None:
        raise Http404
    return deletion_out(deletion)


@router.post("/studies/{slug:code}/anchor-packs", response=answers(PackOut, 404, has_body=True))
def make_anchor_pack(request: AuthenticatedHttpRequest, code: str, sent: PackIn) -> PackOut:
    """Make an anchor pack from the items of a closed study that two raters or more have judged."""
    study = get_object_or_404(readable_studies_of(request.user).filter(rehearsal_of=None), code=code)
    known = {each.key for each in packs.scored_sets(study)}
    if sent.question_set not in known:
        there = ", ".join(sorted(known)) or "none"
        raise InvalidFieldsError({"question_set": [f"The study has judgments by these sets: {there}."]})
    choice = Choice(sent.title, sent.question_set, sent.score, sent.number, frozenset(sent.excluded))
    try:
        made = packs.make_pack(
            study, choice, owner=request.user, now=timezone.now(),
            seed=random_seed() if sent.seed is None else sent.seed,
        )  # fmt: skip
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return _pack(packs.packs_of(request.user).get(pk=made.pk))


@router.get("/studies/{slug:code}/queue/anchors", response=answers(AnchorsOut, 404))
def anchors_in_queue(request: AuthenticatedHttpRequest, code: str) -> AnchorsOut:
    """List the packs whose anchors are in the queue of a study that you work on."""
    return _in_queue(study_with_queue(request, code))


@router.post("/studies/{slug:code}/queue/anchors", response=answers(AnchorsOut, 404, 409, has_body=True))
def add_anchors(request: AuthenticatedHttpRequest, code: str, sent: AddPackIn) -> AnchorsOut:
    """Mix a pack into the queue. Safe to repeat. Raters are not told, and no score counts the anchors."""
    study = study_with_queue(request, code)
    pack = packs.packs_of(request.user).filter(pk=sent.pack).first()
    if pack is None:
        raise InvalidFieldsError({"pack": ["You have no anchor pack with this id. GET /api/anchor-packs."]})
    with refusals_as_conflicts():
        study_anchors.add_pack(study, pack)
    return _in_queue(study)


@router.delete("/studies/{slug:code}/queue/anchors/{int:pack}", response=answers(AnchorsOut, 404, 409))
def delete_anchors(request: AuthenticatedHttpRequest, code: str, pack: PathKey) -> AnchorsOut:
    """Take the anchors of a pack out of the queue, as long as nobody has judged one."""
    study = study_with_queue(request, code)
    found = get_object_or_404(AnchorPack.objects.filter(anchors__items__study=study).distinct(), pk=pack)
    with refusals_as_conflicts():
        study_anchors.remove_pack(study, found)
    return _in_queue(study)


def _pack(pack: AnchorPack) -> PackOut:
    return PackOut(
        id=pack.pk, title=pack.title, version=pack.number, question_set=pack.question_set,
        spread_by=pack.spread_by, origin=pack.origin, anchors=pack.anchors.count(), sha256=pack.sha256,
        made_at=pack.made_at,
    )  # fmt: skip


def _in_queue(study: Study) -> AnchorsOut:
    return AnchorsOut(
        items=[
            PackInStudyOut(
                pack=_pack(each.pack), anchors=each.anchors, judged=each.judged, wanted=each.wanted
            )
            for each in study_anchors.packs_in(study)
        ]
    )
