from django.urls import path

from crowd import participant_views, practice_views, preview_views, views

app_name = "crowd"
urlpatterns = [
    path("s/<slug:code>/", views.enter, name="enter"),
    path("s/<slug:code>/consent/", views.consent, name="consent"),
    path("s/<slug:code>/resume/", views.resume, name="resume"),
    path("s/<slug:code>/instructions/", views.instructions, name="instructions"),
    path("s/<slug:code>/practice/", practice_views.practise, name="practice"),
    path("s/<slug:code>/thanks/", views.thanks, name="thanks"),
    path("studies/<int:pk>/preview/", preview_views.preview, name="preview"),
    path("studies/<int:pk>/practice/", practice_views.preview, name="practice_preview"),
    path("studies/<int:pk>/participants/", participant_views.participants, name="participants"),
    path("studies/<int:pk>/participants.csv", participant_views.participants_csv, name="participants_csv"),
]
