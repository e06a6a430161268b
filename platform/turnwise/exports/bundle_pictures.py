"""The files of pictures in a bundle."""

from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from turnwise.dialogues.models import Picture
from turnwise.exports.files import Archive
from turnwise.exports.picture_columns import FOLDER, JUDGED_PICTURES
from turnwise.studies.models import Study


def sent_pictures(study: Study) -> QuerySet[Picture]:
    """Pictures that were sent in the conversations that the study has or judges, each content once."""
    in_study = Q(seat__dialogue__study=study, messages__isnull=False)
    judged = Q(pk__in=RawSQL(f"SELECT sent.picture_id {JUDGED_PICTURES}", [study.pk]))
    return Picture.objects.filter(in_study | judged).order_by("sha256", "pk").distinct("sha256")


def add_pictures(archive: Archive, study: Study) -> None:
    """Add the files of a study's pictures to its bundle."""
    for key in list(sent_pictures(study).values_list("pk", flat=True)):
        picture = Picture.objects.get(pk=key)
        path = f"{FOLDER}/{picture.file_name}"
        with archive.file(path, packed=True, mediatype=picture.media_type) as file:
            file.write(bytes(picture.content))
