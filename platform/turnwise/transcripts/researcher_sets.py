"""Question sets of researchers that labels of an imported file may name."""

import re

from turnwise.accounts.models import User
from turnwise.questions.models import SetVersion
from turnwise.questions.queries import readable_versions, usable_keys
from turnwise.transcripts.importers import ResearcherSets

# As the key of a member in JSON, which is how labels name a set.
_NAMED = re.compile(rb'"([^"\\\s]{1,34}-v\d{1,5})"\s*:')


def researcher_sets(user: User | None, content: bytes) -> ResearcherSets:
    """The sets of researchers that this file names and this person may use.

    Args:
        user: the person who imports the file; None if their account was deleted: no sets.
        content: the file.
    """
    if user is None:
        return ResearcherSets()
    keys = {key.decode(errors="ignore") for key in set(_NAMED.findall(content))}
    usable = readable_versions(user, keys).values_list("key", "declaration") if keys else ()
    return ResearcherSets(dict(usable), usable_keys(user))


def every_set() -> ResearcherSets:
    """All sets of researchers, for imports by people who operate the installation."""
    versions = dict(SetVersion.objects.values_list("key", "declaration"))
    return ResearcherSets(versions, sorted(versions))
