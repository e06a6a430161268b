from django.urls import path

from turnwise.privacy import own_views, study_views, text_views

app_name = "privacy"
urlpatterns = [
    path("s/<slug:code>/data/<str:token>/", own_views.mine, name="mine"),
    path("s/<slug:code>/data/<str:token>/file/", own_views.file, name="file"),
    path("s/<slug:code>/data/<str:token>/withdraw/", own_views.withdraw, name="withdraw"),
    path("people/data/", study_views.find, name="find"),
    path("studies/<int:pk>/privacy/", study_views.overview, name="overview"),
    path("studies/<int:pk>/privacy/texts/", text_views.texts, name="texts"),
    path("studies/<int:pk>/privacy/texts/redact/", text_views.redact, name="redact"),
    path("studies/<int:pk>/privacy/texts/undo/", text_views.undo, name="undo"),
    path(
        "studies/<int:pk>/participants/<int:participation>/withdraw/",
        study_views.withdraw,
        name="withdraw_for",
    ),
]
