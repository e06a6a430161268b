"""Addresses of the pages about privacy."""

from django.urls import path

from turnwise.privacy import participant_views, study_views
from turnwise.privacy.ethics import views as ethics_views

app_name = "privacy"
urlpatterns = [
    path("s/<slug:code>/data/<str:token>/", participant_views.mine, name="mine"),
    path("s/<slug:code>/data/<str:token>/file/", participant_views.file, name="file"),
    path("s/<slug:code>/data/<str:token>/withdraw/", participant_views.withdraw, name="withdraw"),
    path("people/data/", study_views.find, name="find"),
    path("studies/<int:pk>/privacy/", study_views.overview, name="overview"),
    path("studies/<int:pk>/privacy/ethics/", ethics_views.page, name="ethics"),
    path("studies/<int:pk>/privacy/ethics/file/", ethics_views.file, name="ethics_file"),
    path("studies/<int:pk>/privacy/texts/", study_views.texts, name="texts"),
    path("studies/<int:pk>/privacy/texts/redact/", study_views.redact, name="redact"),
    path("studies/<int:pk>/privacy/texts/undo/", study_views.undo, name="undo"),
    path("studies/<int:pk>/privacy/texts/pictures/", study_views.remove_pictures, name="remove_pictures"),
    path(
        "studies/<int:pk>/participants/<int:participation>/withdraw/",
        study_views.withdraw,
        name="withdraw_for",
    ),
]
