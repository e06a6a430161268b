from django.contrib import admin
from django.urls import URLResolver, include, path
from django.urls.resolvers import RoutePattern
from typing_extensions import override

from turnwise.accounts.views import admin_sign_in
from turnwise.project import health
from turnwise.project.system.gathering import metrics
from turnwise.project.system.system_page import system

admin.site.site_header = admin.site.site_title = "Turnwise"

handler400 = "turnwise.project.middleware.bad_request"
handler500 = "turnwise.project.middleware.server_error"


class LateResolver(URLResolver):
    """Addresses in a namespace that a process imports with the first request or link that needs them."""

    @override
    def _populate(self) -> None:
        """Leave out what is not imported yet when names of other addresses are collected (private)."""
        if "url_patterns" in self.__dict__:
            super()._populate()


urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("system/", system, name="system"),
    path("admin/login/", admin_sign_in),
    path("admin/", admin.site.urls),
    LateResolver(RoutePattern("api/"), "turnwise.project.rest.urls", app_name="ninja", namespace="api-1"),
    path("", include("turnwise.front_door.urls")),
    path("", include("turnwise.accounts.urls")),
    path("", include("turnwise.accounts.allauth_urls")),
    path("", include("turnwise.manual.urls")),
    path("", include("turnwise.languages.urls")),
    path("", include("turnwise.bots.urls")),
    path("", include("turnwise.contexts.urls")),
    path("", include("turnwise.knowledge.urls")),
    path("", include("turnwise.questions.urls")),
    path("", include("turnwise.operating.urls")),
    path("", include("turnwise.studies.urls")),
    path("", include("turnwise.trash.urls")),
    path("", include("turnwise.crowd.urls")),
    path("", include("turnwise.dialogues.urls")),
    path("", include("turnwise.responses.urls")),
    path("", include("turnwise.labels.urls")),
    path("", include("turnwise.questionnaires.urls")),
    path("", include("turnwise.transcripts.urls")),
    path("", include("turnwise.acceptance.urls")),
    path("", include("turnwise.judging.urls")),
    path("", include("turnwise.judges.urls")),
    path("", include("turnwise.experts.urls")),
    path("", include("turnwise.audits.urls")),
    path("", include("turnwise.monitoring.urls")),
    path("", include("turnwise.quality.urls")),
    path("", include("turnwise.privacy.urls")),
    path("", include("turnwise.reports.urls")),
    path("", include("turnwise.exports.urls")),
    path("", include("turnwise.comparisons.urls")),
    path("", include("turnwise.publications.urls")),
    path("", include("turnwise.rehearsals.urls")),
    path("", include("turnwise.webhooks.urls")),
    path("", include("turnwise.tasks.urls")),
    path("", include("turnwise.workspace.urls")),
    path("", include("turnwise.workspace.groups.urls")),
]
