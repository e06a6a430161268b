"""Pictures that participants upload, and the messages with which they are sent."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.dialogues.models.conversations import Seat
from turnwise.dialogues.models.turns import Turn


class Picture(models.Model):
    """A picture that a participant uploaded, re-encoded; named by the hash of its content within its seat.

    A picture that is sent with no message is removed after a day.
    """

    # No separate index: that of picture_once_per_seat begins with the seat.
    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="pictures", db_index=False)
    sha256 = models.CharField(max_length=64, help_text=_("Of the content, hexadecimal."))
    media_type = models.CharField(max_length=20)
    width = models.PositiveSmallIntegerField()
    height = models.PositiveSmallIntegerField()
    content = models.BinaryField()
    description = models.CharField(
        max_length=300,
        default="",
        db_default="",
        blank=True,
        help_text=_("Words of the participant, for those who cannot see it."),
    )
    uploaded_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("seat", "sha256"), name="picture_once_per_seat"),
            models.CheckConstraint(
                name="picture_is_jpeg_or_png", condition=Q(media_type__in=("image/jpeg", "image/png"))
            ),
        )

    def __str__(self) -> str:
        return self.file_name

    @property
    def file_name(self) -> str:
        """Name of the file in exports."""
        return f"{self.sha256}.{'png' if self.media_type == 'image/png' else 'jpg'}"


class MessagePicture(models.Model):
    """The picture of a message. The row stays when the picture is erased, so that pages can say so."""

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True, related_name="sent_picture")
    picture = models.ForeignKey(
        Picture, on_delete=models.SET_NULL, null=True, blank=True, related_name="messages"
    )

    def __str__(self) -> str:
        return str(self.picture or _("erased"))
