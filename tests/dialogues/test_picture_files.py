"""Uploads of pictures: what they become, and what is refused before it is decoded."""

import tracemalloc
from io import BytesIO

import pytest
from PIL import Image

from tests.pictures import bomb, picture
from turnwise.dialogues import picture_files
from turnwise.dialogues.picture_files import MAX_SIDE, MAX_STORED_BYTES, UnfitPictureError, reencode
from turnwise.dialogues.pictures import PictureRefusedError, read_upload


def opened(content: bytes) -> Image.Image:
    return Image.open(BytesIO(content))


@pytest.mark.parametrize(
    ("kind", "media_type"), [("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/jpeg")]
)
def test_a_picture_is_encoded_anew(kind: str, media_type: str) -> None:
    encoded = reencode(picture(kind))

    shown = opened(encoded.content)
    assert (encoded.media_type, encoded.width, encoded.height) == (media_type, 64, 48)
    assert shown.get_format_mimetype() == media_type
    assert shown.size == (64, 48)
    red, green, blue = shown.convert("RGB").getpixel((30, 20))  # type: ignore[misc]
    assert abs(red) < 4
    assert abs(green - 128) < 4
    assert abs(blue - 128) < 4


def test_the_same_upload_becomes_the_same_file() -> None:
    assert reencode(picture()) == reencode(picture())


def test_no_metadata_is_left_and_the_picture_stands_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    exif[0x010E] = "Wanda's garden"
    data = picture(exif=exif, comment=b"Wanda was here") + b"after the end: Wanda"

    encoded = reencode(data)

    shown = opened(encoded.content)
    assert (encoded.width, encoded.height) == shown.size == (48, 64)
    assert not shown.getexif()
    assert b"Wanda" not in encoded.content
    assert {*shown.info} <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


def test_a_png_loses_its_texts() -> None:
    from PIL.PngImagePlugin import PngInfo

    texts = PngInfo()
    texts.add_text("Author", "Wanda")
    texts.add_text("Comment", "Wanda" * 100, zip=True)

    encoded = reencode(picture("PNG", pnginfo=texts, dpi=(300, 300)))

    assert opened(encoded.content).info == {}


def test_large_pictures_are_scaled_down_and_noise_fits_its_bytes() -> None:
    noise = BytesIO()
    Image.effect_noise((2400, 1800), 200).convert("RGB").save(noise, "PNG")

    encoded = reencode(noise.getvalue())

    assert encoded.media_type == "image/jpeg"
    assert max(encoded.width, encoded.height) <= MAX_SIDE
    assert len(encoded.content) <= MAX_STORED_BYTES


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_every_kind_of_pixel_is_read(mode: str) -> None:
    file = BytesIO()
    Image.new("I;16", (40, 30), 30_000).save(file, "PNG") if mode == "I;16" else Image.new(
        "RGB", (40, 30), "white"
    ).convert(mode).save(file, "PNG")

    shown = opened(reencode(file.getvalue()).content)

    assert shown.size == (40, 30)
    if mode == "I;16":
        assert shown.convert("L").getpixel((5, 5)) in range(110, 125)


def test_a_bomb_is_refused_by_its_header_before_a_pixel_is_decoded() -> None:
    data = bomb(30_000, 30_000)
    assert len(data) < 1_000_000  # 900 million pixels
    tracemalloc.start()

    with pytest.raises(UnfitPictureError) as refused:
        reencode(data)

    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused.value.reason == "too_many_pixels"
    assert most < 10_000_000


@pytest.mark.parametrize("side", [8_000, 20_000])
def test_bombs_between_the_limits_are_refused_too(side: int) -> None:
    with pytest.raises(UnfitPictureError) as refused:
        reencode(bomb(side, side))

    assert refused.value.reason == "too_many_pixels"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "unknown_format"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "unknown_format"),
        (b"GIF89a" + bytes(100), "unknown_format"),
        (picture("GIF"), "unknown_format"),
        (picture("TIFF"), "unknown_format"),
        (picture("PNG")[:70], "damaged"),
        (picture("JPEG", size=(400, 300))[:700], "damaged"),
    ],
)
def test_other_files_and_damaged_ones_are_refused_in_words(data: bytes, reason: str) -> None:
    with pytest.raises(PictureRefusedError) as refused:
        read_upload(data)

    assert refused.value.reason == reason
    assert refused.value.say.endswith(".")


def test_the_process_of_its_own_gives_the_same_file() -> None:
    assert read_upload(picture()) == reencode(picture())


def test_a_file_that_is_too_large_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_files, "MAX_UPLOAD_BYTES", 500)

    with pytest.raises(PictureRefusedError) as refused:
        read_upload(bytes(501))

    assert refused.value.reason == "too_large"
