from collections.abc import Callable, Collection, Iterable

from django.contrib.auth.models import AnonymousUser
from django.db.models import OuterRef, Q, QuerySet, Subquery

from evaluation.questions import QUESTION_SETS, QuestionSet, Subject
from evaluation.questions import question_set as shipped_set
from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.questions.models import OwnSet, SetVersion
from turnwise.questions.question_sets import question_set, titled


def sets_of(user: User | AnonymousUser) -> QuerySet[OwnSet]:
    """The sets that this person may read and use: their own, and those that are shared."""
    sets = visible_to(user, OwnSet.objects.all(), owner="owner")
    return sets | OwnSet.objects.filter(shared=True) if user.is_authenticated else sets


def editable_sets(user: User | AnonymousUser) -> QuerySet[OwnSet]:
    """The sets of which this person may save new versions."""
    return visible_to(user, OwnSet.objects.all(), owner="owner")


Uses = Callable[[User | AnonymousUser], Collection[str]]
_uses: list[Uses] = []


def read_where_used(uses: Uses) -> Uses:
    """Register a function that returns further keys of sets that a person may read."""
    _uses.append(uses)
    return uses


def readable(user: User | AnonymousUser, key: str) -> bool:
    """True if this person may read the set with this key."""
    if key in QUESTION_SETS:
        return True
    mine = SetVersion.objects.filter(key=key, own_set__in=sets_of(user)).exists()
    return mine or any(key in uses(user) for uses in _uses)


def readable_versions(user: User | AnonymousUser, keys: Iterable[str]) -> QuerySet[SetVersion]:
    """The versions with these keys that this person may read."""
    where_used = {key for uses in _uses for key in uses(user)}
    may_read = Q(own_set__in=sets_of(user)) | Q(key__in=where_used)
    return SetVersion.objects.filter(may_read, key__in=set(keys))


MOST_NAMED = 50
"""Largest number of researchers' sets that a refusal lists, the newest."""


def usable_keys(user: User | AnonymousUser) -> list[str]:
    """Keys of the newest versions of the sets that this person may use, to list them in a refusal."""
    newest = newest_of(sets_of(user).filter(archived_at=None)).order_by("-created_at", "-pk")
    return list(newest.values_list("key", flat=True)[:MOST_NAMED])


def usable_set(user: User | AnonymousUser, key: str) -> QuestionSet:
    """The set with this key, if this person may read and use it.

    Raises:
        UnknownQuestionSetError: there is none, or it is somebody else's; the message lists the usable ones.
    """
    return question_set(key) if readable(user, key) else shipped_set(key, own=usable_keys(user))


def newest_of(sets: QuerySet[OwnSet]) -> QuerySet[SetVersion]:
    """The newest version of each set, by name."""
    newest = SetVersion.objects.filter(own_set=OuterRef("own_set")).order_by("-number").values("number")[:1]
    found = SetVersion.objects.filter(own_set__in=sets, number=Subquery(newest))
    return found.select_related("own_set__owner").order_by("own_set__name")


Offered = list[tuple[str, list[tuple[str, str]]]]
"""Choices in groups, each with its keys and titles."""


def offered(user: User | AnonymousUser, about: Iterable[Subject], *, beside: str = "") -> Offered:
    """The sets that this person may ask about one of these subjects, in groups.

    Args:
        user: who chooses.
        about: what will be judged.
        beside: key that is offered in any case: the one that a study has.
    """
    subjects = frozenset(about)
    newest = newest_of(sets_of(user).filter(archived_at=None)).filter(
        Q(declaration__subjects__has_any_keys=[str(each) for each in subjects])
    )
    shipped = [each for each in QUESTION_SETS.values() if each.subjects & subjects]
    mine = [each for each in newest if each.own_set.owner_id == user.pk]
    others = [each for each in newest if each.own_set.owner_id != user.pk]
    groups: Offered = [
        ("With Turnwise", [(each.key, each.title) for each in shipped]),
        ("Yours", [_choice(each) for each in mine]),
        ("Of others", [_choice(each) for each in others]),
    ]
    if beside and not any(beside == key for _, choices in groups for key, _ in choices):
        groups.append(("Asked so far", [(beside, titled(question_set(beside)))]))
    return [(group, choices) for group, choices in groups if choices]


def _choice(version: SetVersion) -> tuple[str, str]:
    return version.key, titled(question_set(version.key))
