"""Studies that calls of the REST API name by their code."""

from django.shortcuts import get_object_or_404

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission


def study_at(
    request: AuthenticatedHttpRequest, code: str, permission: Permission = Permission.CHANGE
) -> Study:
    """Return the study with this code on which the caller has the permission.

    Raises:
        Http404: there is none.
    """
    return get_object_or_404(studies_of(request.user, permission), code=code)
