"""A request of somebody who is signed in."""

from django.http import HttpRequest

from turnwise.accounts.models import User


class AuthenticatedHttpRequest(HttpRequest):
    """What a view gets behind `login_required`, and a function of the API behind its token.

    Only types know it: Django makes a plain `HttpRequest`, whose `user` may be anonymous.
    """

    user: User
