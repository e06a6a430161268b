"""Pictures that a researcher sends in the preview of a conversation: cached for an hour, never stored."""

import secrets
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils import translation
from django.views.decorators.http import require_POST, require_safe

from chatbots.pictures import Picture
from turnwise.accounts.limits import too_often
from turnwise.crowd.languages import ENGLISH, catalog_of
from turnwise.crowd.preview import study_with_workers
from turnwise.crowd.worker_task import PreviewOptions
from turnwise.dialogues import picture_views
from turnwise.dialogues.picture_files import EncodedPicture
from turnwise.dialogues.pictures import PictureRefusedError
from turnwise.studies.models import Study

HOLD_SECONDS = 3600
MOST_HELD = 5
"""Pictures held for each user; a newer one replaces the oldest."""


def hold(user_id: int, study_id: int, encoded: EncodedPicture) -> str:
    """Hold a picture in the cache, and return the key by which the preview's next message names it."""
    # The form of the hashes that frames of workers have. Random, so that nobody else can name the picture.
    key = secrets.token_hex(32)
    cache.set(_entry(key), {"user": user_id, "study": study_id, "picture": tuple(encoded)}, HOLD_SECONDS)
    keys = [key, *(cache.get(_index(user_id)) or [])]
    cache.set(_index(user_id), keys[:MOST_HELD], HOLD_SECONDS)
    cache.delete_many([_entry(each) for each in keys[MOST_HELD:]])
    return key


def held(key: str, study_id: int, user_id: int | None = None) -> EncodedPicture | None:
    """The picture with this key in the preview of this study, if it is still held.

    With `user_id`, only a picture of this user.
    """
    entry: dict[str, Any] | None = cache.get(_entry(key))
    if entry is None or entry["study"] != study_id or user_id not in (None, entry["user"]):
        return None
    return EncodedPicture(*entry["picture"])


def context_pictures(keys: dict[int, str], study_id: int) -> dict[int, Picture]:
    """Pictures for a bot by position, from keys by position; those no longer held are left out."""
    found = {position: held(key, study_id) for position, key in keys.items()}
    return {at: Picture(each.media_type, each.content) for at, each in found.items() if each}


def picture_frame(key: str, study_id: int, encoded: EncodedPicture) -> dict[str, Any]:
    """A picture as the page of the preview gets it."""
    address = reverse("conversation:preview_picture", args=[study_id, key])
    return {"address": address, "width": encoded.width, "height": encoded.height}


@require_POST
@login_required
def upload(request: HttpRequest, pk: int) -> HttpResponse:
    """Hold a picture for the next message of the preview; answers as the upload of workers does."""
    study = study_with_workers(request, pk)
    assert request.user.pk is not None
    language = PreviewOptions.of(request.GET, study).language
    with translation.override(catalog_of(language) or ENGLISH):
        try:
            encoded = _encoded(request, study)
        except PictureRefusedError as error:
            return JsonResponse({"reason": error.reason, "say": error.say}, status=422)
    key = hold(request.user.pk, study.pk, encoded)
    return JsonResponse({"key": key, **picture_frame(key, study.pk, encoded)})


def _encoded(request: HttpRequest, study: Study) -> EncodedPicture:
    if not study.takes_pictures:
        raise PictureRefusedError("not_allowed")
    if too_often(request, "preview-picture", rate=picture_views.MOST_A_MINUTE, key="user"):
        raise PictureRefusedError("too_often")
    assert request.user.pk is not None
    return picture_views.encoded_upload(request, "preview-pictures", request.user.pk)


@require_safe
@login_required
def picture(request: HttpRequest, pk: int, key: str) -> HttpResponse:
    """Return a picture of the preview to the researcher who uploaded it."""
    study = study_with_workers(request, pk)
    found = held(key, study.pk, request.user.pk)
    if found is None:
        raise Http404("There is no such picture, or it is not yours to see.")
    return picture_views.content_response(found.content, found.media_type, f"preview.{_suffix(found)}")


def _suffix(encoded: EncodedPicture) -> str:
    return "png" if encoded.media_type == "image/png" else "jpg"


def _entry(key: str) -> str:
    return f"conversation.preview_picture.{key}"


def _index(user_id: int) -> str:
    return f"conversation.preview_pictures.{user_id}"
