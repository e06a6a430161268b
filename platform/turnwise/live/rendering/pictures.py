"""Pictures within a text: only those that bring their bytes along, of known kinds and of bounded size."""

import base64
import binascii
import re
import warnings
from io import BytesIO

from PIL import Image

LONGEST_PICTURE = 32_000
"""Characters of a picture's address."""
MOST_PIXELS = 4_000_000
"""Pixels of a picture: a few bytes can claim a picture that fills the memory of a browser."""
_ADDRESS = re.compile(r"data:image/(png|jpeg|gif|webp);base64,([A-Za-z0-9+/]+={0,2})")


def is_harmless_picture(address: str) -> bool:
    """True for a data URL with a PNG, JPEG, GIF or WebP picture whose header says that it is small."""
    parts = _ADDRESS.fullmatch(address) if len(address) <= LONGEST_PICTURE else None
    if parts is None:
        return False
    try:
        with warnings.catch_warnings(), BytesIO(base64.b64decode(parts[2], validate=True)) as file:
            warnings.simplefilter("error")
            with Image.open(file, formats=[parts[1].upper()]) as picture:  # reads the header only
                width, height = picture.size
    except (OSError, ValueError, SyntaxError, binascii.Error, Warning, Image.DecompressionBombError):
        return False
    return 0 < width * height <= MOST_PIXELS
