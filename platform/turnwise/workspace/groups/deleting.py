"""Delete a group so that it can be put back for a day."""

from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.groups.models import Group
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import SoftDeleter


@transaction.atomic
def delete_group(group: Group, *, by: User) -> Deletion:
    """Delete a group with its memberships, invitations and shares. The shared studies stay."""
    deleter = SoftDeleter()
    deleter.delete(Group.objects.filter(pk=group.pk))
    return deleter.store(_("Group %(name)s") % {"name": group.name}, by=by)
