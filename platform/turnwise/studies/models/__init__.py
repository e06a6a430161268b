"""Models of studies: the study, its parts and the choices of their fields."""

from turnwise.studies.models.choices import (
    PrimaryAnalysis,
    ReEntry,
    Speaker,
    is_read_by_a_native_speaker,
    language_name,
)
from turnwise.studies.models.plans import Preregistration, StoppingRule
from turnwise.studies.models.reply_settings import MOST_REPLY_VERSIONS, ReplyDisplay
from turnwise.studies.models.sharing import Role, Share, Transfer
from turnwise.studies.models.study import CODE_ALPHABET, LONGEST_TAG, MOST_TAGS, Study, entry_code
from turnwise.studies.models.study_parts import (
    MOST_WANTED,
    Ask,
    Bundle,
    BundlePart,
    ConsentVersion,
    LastExport,
    StudyBot,
)

__all__ = [
    "CODE_ALPHABET",
    "LONGEST_TAG",
    "MOST_REPLY_VERSIONS",
    "MOST_TAGS",
    "MOST_WANTED",
    "Ask",
    "Bundle",
    "BundlePart",
    "ConsentVersion",
    "LastExport",
    "Preregistration",
    "PrimaryAnalysis",
    "ReEntry",
    "ReplyDisplay",
    "Role",
    "Share",
    "Speaker",
    "StoppingRule",
    "Study",
    "StudyBot",
    "Transfer",
    "entry_code",
    "is_read_by_a_native_speaker",
    "language_name",
]  # fmt: skip
