"""Pictures for tests, made anew each time."""

import struct
import zlib
from io import BytesIO

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from PIL import Image

from tests.conftest import session_cookie, worker_of
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.dialogues.models import Dialogue


def picture(
    kind: str = "JPEG",
    size: tuple[int, int] = (64, 48),
    colour: str = "teal",
    mode: str = "RGB",
    **options: object,
) -> bytes:
    """A picture of one colour."""
    file = BytesIO()
    Image.new(mode, size, colour).save(file, kind, **options)
    return file.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A small PNG file whose header claims a huge picture, with pixels that can be unpacked."""
    row = b"\0" + bytes(width // 8 + 1)
    packer = zlib.compressobj(9)
    content = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", content), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def browser_of(dialogue: Dialogue) -> Client:
    """The browser of the person who talks there."""
    client = Client()
    client.cookies[COOKIE] = session_cookie(worker_of(dialogue))
    return client


def upload(
    dialogue: Dialogue, data: bytes, *, name: str = "photo.jpg", client: Client | None = None
) -> HttpResponse:
    """Upload a file for the next message of a conversation."""
    file = SimpleUploadedFile(name, data, content_type="image/jpeg")
    address = f"/s/{dialogue.study.code}/picture/"
    return (client or browser_of(dialogue)).post(address, {"picture": file})  # type: ignore[return-value]
