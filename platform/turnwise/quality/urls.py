"""Addresses of the pages about quality."""

from django.urls import path

from turnwise.quality import decision_views, qualification_views, study_views

app_name = "quality"
urlpatterns = [
    path("s/<slug:code>/qualification/", qualification_views.qualify, name="qualify"),
    path("qualifications/", qualification_views.qualifications, name="qualifications"),
    path("qualifications/new/", qualification_views.new, name="new"),
    path("qualifications/<int:pk>/", qualification_views.qualification, name="qualification"),
    path("qualifications/<int:pk>/delete/", qualification_views.delete, name="delete"),
    path("messages/", study_views.message_templates, name="messages"),
    path("messages/<int:pk>/remove/", study_views.remove, name="remove_message"),
    path("studies/<int:pk>/qualification/", qualification_views.require, name="require"),
    path("studies/<int:pk>/quality/", study_views.quality, name="study"),
    path("studies/<int:pk>/quality/limits/", study_views.limits, name="limits"),
    path("studies/<int:pk>/quality/checks/", study_views.checks, name="checks"),
    path("studies/<int:pk>/quality/decisions.csv", decision_views.decisions_csv, name="decisions_csv"),
    path("studies/<int:pk>/payments/<slug:name>.csv", decision_views.panel_file, name="panel_file"),
    path("studies/<int:pk>/quality/<int:participation>/", decision_views.decide, name="decide"),
    path("studies/<int:pk>/quality/undo/<int:decision>/", decision_views.undo, name="undo"),
    path("studies/<int:pk>/quality/<int:participation>/history/", study_views.history, name="history"),
]
