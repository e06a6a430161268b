from django.contrib import admin
from django.urls import include, path, re_path

from accounts.views import admin_sign_in
from project import health
from project.api import api, nothing_there

admin.site.site_header = admin.site.site_title = "Turnwise"

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("admin/login/", admin_sign_in),
    path("admin/", admin.site.urls),
    path("api/", api.urls),
    re_path(r"^api/[\s\S]*", nothing_there, name="api_elsewhere"),
    path("", include("accounts.urls")),
    path("", include("manual.urls")),
    path("", include("bots.urls")),
    path("", include("contexts.urls")),
    path("", include("knowledge.urls")),
    path("", include("questions.urls")),
    path("", include("operating.urls")),
    path("", include("studies.urls")),
    path("", include("trash.urls")),
    path("", include("crowd.urls")),
    path("", include("responses.urls")),
    path("", include("labels.urls")),
    path("", include("questionnaires.urls")),
    path("", include("transcripts.urls")),
    path("", include("acceptance.urls")),
    path("", include("judging.urls")),
    path("", include("audits.urls")),
    path("", include("monitoring.urls")),
    path("", include("quality.urls")),
    path("", include("privacy.urls")),
    path("", include("reports.urls")),
    path("", include("exports.urls")),
    path("", include("comparisons.urls")),
    path("", include("rehearsals.urls")),
    path("", include("tasks.urls")),
    path("", include("workspace.urls")),
]
