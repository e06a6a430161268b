"""Addresses of the pages of languages."""

from django.urls import path

from turnwise.languages import views

app_name = "languages"
urlpatterns = [
    path("languages/", views.languages, name="languages"),
    path("languages/<int:pk>/", views.language, name="language"),
    path("languages/<int:pk>/settings/", views.settings_page, name="settings"),
    path("languages/<int:pk>/upload/", views.upload, name="upload"),
    path("languages/<int:pk>/texts.<str:ending>", views.download, name="download"),
]
