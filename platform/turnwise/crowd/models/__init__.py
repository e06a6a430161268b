"""Tables of the crowd: workers, participations, assignments, recruitment, pay and privacy."""

from turnwise.crowd.models.pay import PanelAct, PayEntry
from turnwise.crowd.models.people import (
    Assignment,
    Participation,
    Practice,
    Waiting,
    Worker,
    completion_code,
    participation_by_data_link,
    pseudonym,
    resume_code,
)
from turnwise.crowd.models.privacy import Redaction, TextReview, Withdrawal
from turnwise.crowd.models.recruitment import (
    CODED,
    LONGEST_ID,
    PAID,
    PAID_IN_FULL,
    Invitation,
    Notice,
    Outcome,
    Pause,
    StudyPanel,
    VisitCount,
    invitation_token,
)

__all__ = [
    "CODED", "LONGEST_ID", "PAID", "PAID_IN_FULL", "Assignment", "Invitation", "Notice", "Outcome",
    "PanelAct", "Participation", "Pause", "PayEntry", "Practice", "Redaction", "StudyPanel", "TextReview",
    "VisitCount", "Waiting", "Withdrawal", "Worker", "completion_code", "invitation_token",
    "participation_by_data_link", "pseudonym", "resume_code",
]  # fmt: skip
