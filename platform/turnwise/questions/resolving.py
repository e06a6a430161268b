"""The question set with a key: one that comes with Turnwise, or a version that a researcher declared.

Everything on the platform that has a key asks here. A version never changes, so it is read once.
"""

from collections.abc import Iterable

from django.core.exceptions import ValidationError

from evaluation import questions as shipped
from evaluation.questions import QuestionSet, UnknownQuestionSetError
from turnwise.live.database import in_database
from turnwise.questions.models import SetVersion

_declared: dict[str, QuestionSet] = {}


def question_set(key: str) -> QuestionSet:
    """The set with this key.

    Raises:
        UnknownQuestionSetError: no such set; the message suggests the nearest that comes with Turnwise.
    """
    return shipped.question_set(key, _own)


def question_sets(keys: Iterable[str]) -> list[QuestionSet]:
    """Those with these keys, in this order: what was never read is read in one query."""
    wanted = list(keys)
    unread = {key for key in wanted if key not in shipped.QUESTION_SETS and key not in _declared}
    for version in SetVersion.objects.filter(key__in=unread) if unread else ():
        _declared[version.key] = QuestionSet.from_json(version.declaration)
    return [question_set(key) for key in wanted]


async def question_set_soon(key: str) -> QuestionSet:
    """The same on the event loop, which must not wait for the database itself."""
    if key in shipped.QUESTION_SETS or key in _declared:
        return question_set(key)
    return await in_database(question_set, key)


def titled(questions: QuestionSet) -> str:
    """What people call the set; researchers may give several, or several versions, one title."""
    return (
        questions.title if questions.key in shipped.QUESTION_SETS else f"{questions.title} ({questions.key})"
    )


def refuse_unknown_set(key: str) -> None:
    """Validate a stored key."""
    try:
        question_set(key)
    except UnknownQuestionSetError as error:
        raise ValidationError(str(error)) from None


def forget() -> None:
    """Read every set anew, as tests do, which begin with another database."""
    _declared.clear()


def _own(key: str) -> QuestionSet | None:
    if key not in _declared:
        version = SetVersion.objects.filter(key=key).first()
        if version is None:
            return None
        _declared[key] = QuestionSet.from_json(version.declaration)
    return _declared[key]
