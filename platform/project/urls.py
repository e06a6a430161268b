from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from project import health

# One sign-in page for everybody, with its limits on attempts.
admin.site.site_header = admin.site.site_title = "Turnwise"

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("admin/login/", RedirectView.as_view(pattern_name="accounts:sign_in", query_string=True)),
    path("admin/", admin.site.urls),
    path("", include("accounts.urls")),
    path("", include("studies.urls")),
    path("", include("crowd.urls")),
    path("", include("dialogues.urls")),
    path("", include("labels.urls")),
    path("", include("reports.urls")),
]
