"""The admin over all models: what has happened is shown there, never written."""

from typing import Any

import pytest
from django.contrib import admin
from django.test import RequestFactory

from turnwise.accounts.models import User
from turnwise.studies.models import Study

# By model, the fields that an admin may change there, and why. All others are for reading alone.
MAY_BE_CHANGED: dict[str, tuple[set[str], str]] = {
    "accounts.apitoken": ({"title"}, "what its owner calls it; only they can make one"),
    "accounts.user": (
        {"date_joined", "email", "first_name", "groups", "is_active", "is_staff", "is_superuser",
         "last_login", "last_name", "password", "user_permissions", "username"},
        "people who sign in, when their own page is out of reach",
    ),
    "auth.group": ({"name", "permissions"}, "as Django has it; Turnwise uses none"),
    "bots.bot": (
        {"active", "open_to_all", "operators", "owner", "shared_with", "title"},
        "whose it is, who may use it",
    ),
    "contexts.contextset": (
        {"description", "licence", "name", "owner", "title"}, "what is said of it; its versions never change"
    ),
    "crowd.participation": ({"excluded_reason"}, "an exclusion, by the same service as on its page"),
    "judging.judgingplan": (
        {"batch_size", "gold_items", "lease_seconds", "raters_per_item", "shows_reading", "study",
         "third_rater", "training_tries"},
        "how items are dealt, by the same service as on its page; not what was judged",
    ),
    "knowledge.knowledgebase": (
        {"description", "licence", "name", "open_to_all", "owner", "shared_with", "title"},
        "what is said of it and who may use it; its versions never change",
    ),
    "studies.share": (
        {"group", "may_bundle", "may_pay", "person", "role", "study"},
        "who works on a study whose owner has left",
    ),
    "studies.study": (set(), "its words; its protocol only as a draft, its owner by a transfer"),
    "studies.studybot": ({"bot", "facets", "study", "target"}, "how many are wanted; the bot stays"),
    "tasks.twopeopleplan": (set(), "a draft, before anybody has taken part"),
    "tasks.writingplan": (set(), "a draft, before anybody has taken part"),
}  # fmt: skip
# By model, what an admin may delete there, and why. Nothing else goes, however it came there.
MAY_BE_DELETED = {
    "accounts.apitoken": "a token that is no longer to open anything",
    "accounts.user": "somebody who signs in; what they made protects them",
    "auth.group": "as Django has it; Turnwise uses none",
    "groups.membership": "it goes with an account that is deleted",
    "crowd.worker": "a person who asks for it, with all that is theirs, by the same service as elsewhere",
    "studies.share": "somebody works on a study no longer",
}
# Of these the admin class itself asks whether the study is a draft; tests/reports and tests/tasks try it.
DRAFTS = {label for label, (fields, _) in MAY_BE_CHANGED.items() if not fields}


@pytest.fixture(scope="module")
def request_of_an_admin() -> Any:
    request = RequestFactory().get("/admin/")
    request.user = User(username="ada", is_active=True, is_staff=True, is_superuser=True)
    return request


def test_only_what_stands_here_can_be_changed(request_of_an_admin: Any) -> None:
    found = {
        model._meta.label_lower: set(
            registered.get_form(
                request_of_an_admin, obj=User() if model is User else None, change=True
            ).base_fields
        )
        for model, registered in admin.site._registry.items()
        if registered.has_change_permission(request_of_an_admin)
    }
    for label in DRAFTS & found.keys():
        found[label] = set()

    assert found == {label: fields for label, (fields, _) in MAY_BE_CHANGED.items()}


def test_nothing_is_added_that_only_services_write(request_of_an_admin: Any) -> None:
    may_be_added = {
        model._meta.label_lower
        for model, registered in admin.site._registry.items()
        if registered.has_add_permission(request_of_an_admin)
    }

    assert may_be_added <= MAY_BE_CHANGED.keys()


def test_only_what_stands_here_can_be_deleted(request_of_an_admin: Any) -> None:
    may_be_deleted = {
        model._meta.label_lower
        for model, registered in admin.site._registry.items()
        if registered.has_delete_permission(request_of_an_admin)
    }

    assert may_be_deleted == MAY_BE_DELETED.keys()


def test_nothing_of_an_opened_study_is_deleted_within_another_page(request_of_an_admin: Any) -> None:
    opened = Study(state=Study.State.OPEN)
    for model, registered in admin.site._registry.items():
        for inline in registered.get_inline_instances(request_of_an_admin):
            parent = opened if model is Study else None
            may = inline.has_delete_permission(request_of_an_admin, parent)
            assert not may, f"{inline.model.__name__} within {model.__name__}"
