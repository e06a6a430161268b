"""Changes of who sees a study: share it with a person or a group, change a role, stop sharing."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from turnwise.accounts.colleagues import UnknownPersonError, people_named
from turnwise.accounts.models import User
from turnwise.groups.models import Group
from turnwise.groups.queries import groups_of
from turnwise.studies.models import Role, Share, Study


def share_with_person(
    study: Study, name: str, role: str, *, may_pay: bool = False, may_bundle: bool = False
) -> Share:
    """Share a study with a person, by user name, or change their role.

    Args:
        study: the study.
        name: user name of the person.
        role: a value of `Role`.
        may_pay: whether an editor also has `Permission.PAY`; ignored in other roles.
        may_bundle: whether a reviewer or reader also has `Permission.BUNDLE`; an editor has it anyway.

    Raises:
        ValidationError: nobody has this name, it is the owner's, or there is no such role.
    """
    given = _given(role, may_pay=may_pay, may_bundle=may_bundle)
    person = person_named(name)
    if person.pk == study.owner_id:
        raise ValidationError(_("“%(name)s” is the owner of this study.") % {"name": person})
    share, _is_new = Share.objects.update_or_create(study=study, person=person, defaults=given)
    return share


def share_with_group(
    study: Study, group: Group, role: str, *, may_pay: bool = False, may_bundle: bool = False
) -> Share:
    """Share a study with all present and future members of a group, or change the group's role.

    Raises:
        ValidationError: there is no such role.
    """
    given = _given(role, may_pay=may_pay, may_bundle=may_bundle)
    share, _is_new = Share.objects.update_or_create(study=study, group=group, defaults=given)
    return share


def change_role(share: Share, role: str, *, may_pay: bool = False, may_bundle: bool = False) -> Share:
    """Change the role of a share.

    Raises:
        ValidationError: there is no such role.
    """
    for name, value in _given(role, may_pay=may_pay, may_bundle=may_bundle).items():
        setattr(share, name, value)
    share.save(update_fields=["role", "may_pay", "may_bundle"])
    return share


def stop_sharing(study: Study, share: int) -> None:
    """Delete a share of the study, by its key. Idempotent."""
    study.shares.filter(pk=share).delete()


def person_named(name: str) -> User:
    """Find the active account of this user name.

    Raises:
        ValidationError: there is none, or it is deactivated.
    """
    if User.objects.filter(username=name.strip(), is_active=False).exists():
        raise ValidationError(
            _("“%(name)s” is deactivated and cannot sign in. An admin can reactivate them under People.")
            % {"name": name.strip()}
        )
    try:
        found = people_named([name])
    except UnknownPersonError as error:
        raise ValidationError(str(error)) from error
    if not found:
        raise ValidationError(_("Write the name of a person who signs in here."))
    return found[0]


def group_for_sharing(user: User, key: str) -> Group:
    """Find a group, by its key, with which this person may share.

    Raises:
        ValidationError: there is none of which they are a member.
    """
    group = groups_of(user).filter(pk=int(key)).first() if key.isdecimal() and len(key) < 10 else None
    if group is None:
        raise ValidationError(_("You are not a member of such a group. Choose one of yours."))
    return group


def _given(role: str, *, may_pay: bool, may_bundle: bool) -> Mapping[str, Any]:
    if role not in Role.values:
        known = ", ".join(Role.values)
        raise ValidationError(
            _("“%(role)s” is not a role in a study. Choose one of: %(known)s.")
            % {"role": role[:20], "known": known}
        )
    is_editor = role == Role.EDITOR
    return {"role": role, "may_pay": may_pay and is_editor, "may_bundle": may_bundle and not is_editor}
