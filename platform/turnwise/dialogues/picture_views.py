"""Upload of a picture by a participant, and the pictures of conversations for those who may read them."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from turnwise.accounts.limits import TooManyAtOnceError, limit_concurrency, too_often
from turnwise.bots.operators import operable_bots
from turnwise.crowd.entry.sessions import session_of
from turnwise.crowd.entry.worker_views import current_participation, worker_page
from turnwise.crowd.models import Participation
from turnwise.dialogues import picture_files, pictures
from turnwise.dialogues.models import Picture, Seat
from turnwise.dialogues.picture_files import EncodedPicture
from turnwise.dialogues.pictures import PictureRefusedError
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_studies_of

MOST_A_MINUTE = "20/m"
MOST_OF_AN_ADDRESS = "300/m"


@require_POST
@worker_page
def upload(request: HttpRequest, study: Study) -> HttpResponse:
    """Store a picture for the participant's next message; answers with the hash by which it is sent."""
    participation = current_participation(request, study)
    try:
        picture = _stored(request, study, participation)
    except PictureRefusedError as error:
        return JsonResponse({"reason": error.reason, "say": error.say}, status=422)
    return JsonResponse(
        {
            "key": picture.sha256,
            "address": pictures.address_for(picture.pk, participation.pk),
            "width": picture.width,
            "height": picture.height,
        }
    )


def _stored(request: HttpRequest, study: Study, participation: Participation) -> Picture:
    """Read the uploaded file and store it.

    Raises:
        PictureRefusedError: the study or the file does not allow it, or there are too many uploads.
    """
    if not study.takes_pictures:
        raise PictureRefusedError("not_allowed")
    who = str(participation.pk)
    if too_often(request, "picture", rate=MOST_A_MINUTE, key=lambda group, request: who) or too_often(
        request, "pictures", rate=MOST_OF_AN_ADDRESS
    ):
        raise PictureRefusedError("too_often")
    return pictures.store(participation, encoded_upload(request, "pictures", participation.pk))


def encoded_upload(request: HttpRequest, what: str, person: int) -> EncodedPicture:
    """Read and re-encode the uploaded file, one at a time for each person.

    Raises:
        PictureRefusedError: there is no file, it is no fit picture, or another is being read.
    """
    file = request.FILES.get("picture")
    if not isinstance(file, UploadedFile):
        raise PictureRefusedError("no_file")
    if (file.size or 0) > picture_files.MAX_UPLOAD_BYTES:
        raise PictureRefusedError("too_large")
    file.seek(0)  # it was read before if the request is repeated after PostgreSQL was lost
    try:
        with limit_concurrency(1, what, person):
            return pictures.read_upload(file.read())
    except TooManyAtOnceError:
        raise PictureRefusedError("too_often") from None


@require_safe
def picture(request: HttpRequest, token: str) -> HttpResponse:
    """Return a picture to the participant whose page was given this address."""
    session = session_of(request.COOKIES)
    found = pictures.picture_at(token, session.participations) if session else None
    if found is None:
        raise Http404("There is no such picture, or it is not yours to see.")
    return response_of(found)


@require_safe
@login_required
def staff_picture(request: HttpRequest, public_id: UUID, pk: int) -> HttpResponse:
    """Return a picture of a conversation to those who may read it, and to an operator who speaks in it."""
    found = get_object_or_404(Picture, pk=pk, seat__dialogue__public_id=public_id)
    dialogue = found.seat.dialogue_id
    reads = readable_studies_of(request.user).filter(dialogues=dialogue).exists()
    if not reads and not Seat.objects.filter(dialogue=dialogue, bot__in=operable_bots(request.user)).exists():
        raise Http404("There is no such picture, or it is not yours to see.")
    return response_of(found)


def response_of(picture: Picture) -> HttpResponse:
    """Response with a stored picture."""
    return content_response(bytes(picture.content), picture.media_type, picture.file_name)


def content_response(content: bytes, media_type: str, file_name: str) -> HttpResponse:
    """Response with the bytes of a picture, which no proxy and no browser keeps."""
    return HttpResponse(
        content,
        content_type=media_type,
        headers={
            "Cache-Control": "private, no-store",
            "Content-Disposition": f'inline; filename="{file_name}"',
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "Cross-Origin-Resource-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff",
        },
    )
