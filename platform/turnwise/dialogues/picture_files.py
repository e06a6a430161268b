"""Re-encodes an uploaded picture. Runs as a process of its own, which an evil file cannot make outgrow.

    upload ── bytes ──▶ python -m turnwise.dialogues.picture_files ── a line of JSON, then the new file ──▶

The header is read first, and a picture with too many pixels is refused before any of them is decoded. Only
pixels reach the new file: no position of the camera, no name of its owner, no bytes after the picture's end.
"""

import json
import sys
import warnings
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_UPLOAD_BYTES = 12_000_000
MAX_PIXELS = 50_000_000
"""Pixels of an upload: as many as the best cameras of phones have."""
MAX_SIDE = 1568
"""Pixels of the longer side as stored; services scale larger pictures down to about this size."""
MAX_STORED_BYTES = 1_500_000
QUALITIES = (85, 70, 50)
MAX_MEMORY_BYTES = 2 << 30
MAX_SECONDS = 20
FORMATS = ("JPEG", "PNG", "WEBP")
MODULE = "turnwise.dialogues.picture_files"


class UnfitPictureError(Exception):
    """A file that is not stored.

    Attributes:
        reason: `too_large`, `too_many_pixels`, `unknown_format` or `damaged`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EncodedPicture(NamedTuple):
    """A picture as it is stored: JPEG, or PNG for a small PNG."""

    media_type: str
    width: int
    height: int
    content: bytes


def reencode(data: bytes) -> EncodedPicture:
    """Decode a JPEG, PNG or WebP picture and encode it anew, within the limits of this module.

    Raises:
        UnfitPictureError: the file is too large, has too many pixels, another format, or is damaged.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError  # loaded by the process that decodes

    if len(data) > MAX_UPLOAD_BYTES:
        raise UnfitPictureError("too_large")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image: Image.Image = Image.open(BytesIO(data), formats=FORMATS)  # reads the header only
            if image.width * image.height > MAX_PIXELS:
                raise UnfitPictureError("too_many_pixels")
            is_png = image.format == "PNG"
            if image.mode not in ("L", "RGB", "CMYK", "YCbCr"):  # of a JPEG, a part of the pixels is enough
                image = _in_colours(image)
            image.thumbnail((MAX_SIDE, MAX_SIDE))
            plain = _without_metadata(ImageOps.exif_transpose(image))
    except UnfitPictureError:
        raise
    except UnidentifiedImageError:
        raise UnfitPictureError("unknown_format") from None
    except Image.DecompressionBombError:
        raise UnfitPictureError("too_many_pixels") from None
    except Exception:  # Pillow's decoders raise errors of many kinds
        raise UnfitPictureError("damaged") from None
    return (_png(plain) if is_png else None) or _jpeg(plain)


def _in_colours(image: "Image") -> "Image":
    """The picture in a mode that can be scaled down smoothly, with its direction."""
    exif = image.getexif()
    if image.mode.startswith("I"):  # 16 bits of grey
        image = image.point(lambda value: value / 256).convert("L")
    else:
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.info = {"exif": exif.tobytes()}
    return image


def _without_metadata(image: "Image") -> "Image":
    """The pixels alone, in RGB or RGBA."""
    plain = image.convert("RGBA" if image.mode == "RGBA" else "RGB")
    plain.info = {}
    return plain


def _png(image: "Image") -> EncodedPicture | None:
    """The picture as PNG, which keeps the letters of a screenshot sharp; None if it takes too much."""
    file = BytesIO()
    image.save(file, "PNG")
    return _encoded("image/png", image, file) if file.tell() <= MAX_STORED_BYTES else None


def _jpeg(image: "Image") -> EncodedPicture:
    """The picture as JPEG on white, with the best quality that fits; noise is made smaller until it does."""
    from PIL import Image

    flat = Image.new("RGB", image.size, "white")
    flat.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
    while True:
        for quality in QUALITIES:
            file = BytesIO()
            flat.save(file, "JPEG", quality=quality)
            if file.tell() <= MAX_STORED_BYTES:
                return _encoded("image/jpeg", flat, file)
        flat.thumbnail((flat.width // 2, flat.height // 2))


def _encoded(media_type: str, image: "Image", file: BytesIO) -> EncodedPicture:
    return EncodedPicture(media_type, image.width, image.height, file.getvalue())


def packed(data: bytes) -> bytes:
    """Answer of the process: a line of JSON, and the new file after it."""
    try:
        picture = reencode(data)
    except UnfitPictureError as error:
        return json.dumps({"refused": error.reason}).encode() + b"\n"
    about = {"media_type": picture.media_type, "width": picture.width, "height": picture.height}
    return json.dumps(about).encode() + b"\n" + picture.content


def unpacked(answer: bytes) -> EncodedPicture:
    """Read the answer of the process.

    Raises:
        UnfitPictureError: the file was refused.
    """
    line, _, content = answer.partition(b"\n")
    about = json.loads(line)
    if "refused" in about:
        raise UnfitPictureError(about["refused"])
    return EncodedPicture(about["media_type"], about["width"], about["height"], content)


def main() -> None:
    """Re-encode the standard input to the standard output, within bounds of memory and time."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    sys.stdout.buffer.write(packed(sys.stdin.buffer.read(MAX_UPLOAD_BYTES + 1)))


if __name__ == "__main__":
    main()
