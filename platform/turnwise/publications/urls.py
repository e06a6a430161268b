from django.urls import path

from turnwise.publications import public_views, views

app_name = "publications"
_NEWEST, _VERSION = "published/<slug:slug>/", "published/<slug:slug>/v<int:number>/"
_FILES = (
    ("results.json", public_views.results, "results"),
    ("croissant.json", public_views.croissant_file, "croissant"),
    ("badge.svg", public_views.badge_image, "badge"),
    ("rows.zip", public_views.row_archive, "rows"),
)
urlpatterns = [
    path("studies/<int:pk>/publish/", views.publish, name="publish"),
    path("studies/<int:pk>/publish/listing/", views.change_listing, name="change_listing"),
    path("studies/<int:pk>/publish/revoke/", views.revoke, name="revoke"),
    path("leaderboards/", public_views.leaderboards, name="leaderboards"),
    path(_NEWEST, public_views.page, name="page"),
    path(_VERSION, public_views.page, name="version"),
    *(path(f"{_NEWEST}{file}", view, name=name) for file, view, name in _FILES),
    *(path(f"{_VERSION}{file}", view, name=f"version_{name}") for file, view, name in _FILES),
]
