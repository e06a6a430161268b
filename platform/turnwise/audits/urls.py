from django.urls import path

from turnwise.audits import views

app_name = "audits"
urlpatterns = [
    path("bots/<slug:name>/audits/", views.audits, name="audits"),
    path("bots/<slug:name>/audits/start/", views.start, name="start"),
    path("bots/<slug:name>/audits/<int:pk>/", views.audit, name="audit"),
    path("bots/<slug:name>/audits/<int:pk>/stamp/", views.stamp, name="stamp"),
    path("bots/<slug:name>/audits/<int:pk>/stop/", views.stop, name="stop"),
    path("bots/<slug:name>/audits/<int:pk>/judge/", views.judge, name="judge"),
    path("bots/<slug:name>/audits/<int:pk>/replies.csv", views.replies_csv, name="replies_csv"),
]
