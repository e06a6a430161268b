"""Question sets of researchers that labels of an imported file may name."""

import re

from turnwise.accounts.models import User
from turnwise.questions.models import SetVersion
from turnwise.questions.queries import readable_versions, usable_keys
from turnwise.transcripts.importers import OwnSets

# As the key of a member in JSON, which is how labels name a set.
_NAMED = re.compile(rb'"([^"\\\s]{1,34}-v\d{1,5})"\s*:')


def own_sets(user: User | None, content: bytes) -> OwnSets:
    """The sets of researchers that this file names and this person may use.

    Args:
        user: the person who imports the file; None if their account was deleted: no sets.
        content: the file.
    """
    if user is None:
        return OwnSets()
    keys = {key.decode(errors="ignore") for key in set(_NAMED.findall(content))}
    usable = readable_versions(user, keys).values_list("key", "declaration") if keys else ()
    return OwnSets(dict(usable), usable_keys(user))


def every_set() -> OwnSets:
    """All sets of researchers, for imports by people who operate the installation."""
    versions = dict(SetVersion.objects.values_list("key", "declaration"))
    return OwnSets(versions, sorted(versions))
