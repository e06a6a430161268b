"""Pictures that people send with their messages."""

import base64
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that was sent with a turn.

    Attributes:
        media_type: its type, image/jpeg or image/png.
        content: the file, re-encoded by the platform and without metadata.
    """

    media_type: str
    content: bytes = field(repr=False)

    @property
    def base64(self) -> str:
        """The file in base64, as services take it."""
        return base64.b64encode(self.content).decode()

    @property
    def data_url(self) -> str:
        """The file as a data URL."""
        return f"data:{self.media_type};base64,{self.base64}"
