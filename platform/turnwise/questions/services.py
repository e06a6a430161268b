"""Every write of a researcher's question sets."""

import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from evaluation.questions import QUESTION_SETS, DeclarationError, QuestionSet
from turnwise.accounts.models import User
from turnwise.questions.models import LONGEST_NAME, OwnSet, SetVersion

# A set of such a name would have the address of another page.
RESERVED_NAMES = ("import", "keys", "new", "preview")

_VERSION = re.compile(r"(?P<name>.+)-v[0-9]+")


@transaction.atomic
def create_set(declared: object, *, owner: User) -> SetVersion:
    """Store a new set with its first version; the declaration's key becomes its name.

    Args:
        declared: as `QuestionSet.from_json` takes it.
        owner: owner of the set.

    Raises:
        DeclarationError: the declaration cannot be, or its key is taken; nothing is stored.
    """
    questions = QuestionSet.from_json(declared)
    name = _free_name(questions.key)
    own_set, is_new = OwnSet.objects.get_or_create(name=name, defaults={"owner": owner})
    if not is_new:
        raise _name_error(name, "belongs to another set")
    return _store(own_set, 1, declared, owner)


@transaction.atomic
def add_version(set_id: int, declared: object, *, by: User, seen: int | None = None) -> SetVersion:
    """Store a declaration as the set's next version. Studies keep the version that they ask.

    Args:
        set_id: which set.
        declared: as `QuestionSet.from_json` takes it; its key is the set's name, or that of a version.
        by: who makes it.
        seen: number of the newest version that the user saw; None to store without this check.

    Raises:
        DeclarationError: the declaration cannot be, has the key of another set or says what the newest
            version says, or somebody saved a version that was not seen; nothing is stored.
    """
    own_set = OwnSet.objects.select_for_update().get(pk=set_id)
    newest = own_set.versions.first()
    assert newest  # a set is made with its first version
    questions = QuestionSet.from_json(declared)
    if name_of(questions.key) != own_set.name:
        raise DeclarationError(
            "key", f"“{questions.key}” is not the key of this set.", f"Use “{own_set.name}”."
        )
    if seen is not None and seen != newest.number:
        raise DeclarationError(
            "declaration",
            f"Version {newest.number} was saved in the meantime; this page started from version {seen}.",
            "Open the newest version in another tab, and make your change there.",
        )
    if {**questions.to_json(), "key": newest.key} == newest.declaration:
        raise DeclarationError(
            "declaration", f"Version {newest.number} says exactly this.", "Change something, then save."
        )
    return _store(own_set, newest.number + 1, declared, by)


def set_shared(set_id: int, shared: bool) -> None:
    """Let every researcher here read and use the set, or nobody else. Studies that ask it go on."""
    OwnSet.objects.filter(pk=set_id).update(shared=shared)


def set_archived(set_id: int, archived: bool) -> None:
    """Leave the set out of lists and of what new studies are offered, or bring it back."""
    if archived:
        OwnSet.objects.filter(pk=set_id, archived_at=None).update(archived_at=timezone.now())
    else:
        OwnSet.objects.filter(pk=set_id).update(archived_at=None)


def name_of(key: str) -> str:
    """The name of the set: the key without the number of a version."""
    version = _VERSION.fullmatch(key)
    return version["name"] if version else key


def _store(own_set: OwnSet, number: int, declared: object, by: User) -> SetVersion:
    key = f"{own_set.name}-v{number}"
    assert isinstance(declared, Mapping)  # it was read before
    named: dict[str, Any] = {**declared, "key": key}
    return SetVersion.objects.create(
        own_set=own_set,
        number=number,
        key=key,
        declaration=QuestionSet.from_json(named).to_json(),
        made_by=by,
    )


def _free_name(key: str) -> str:
    name = name_of(key)
    if name in QUESTION_SETS or key in QUESTION_SETS:
        raise _name_error(name, "belongs to a set that comes with Turnwise")
    if name in RESERVED_NAMES:
        raise _name_error(name, "is the address of another page")
    if len(name) > LONGEST_NAME:
        raise DeclarationError(
            "key", f"“{name}” has {len(name)} characters.", f"Use at most {LONGEST_NAME}; versions add a few."
        )
    if name_of(name) != name:
        raise _name_error(name, "looks like that of a version")
    return name


def _name_error(name: str, why: str) -> DeclarationError:
    return DeclarationError("key", f"“{name}” {why}.", "Choose another key.")
