from django.urls import path

from labels import judging_views, views

app_name = "labels"
urlpatterns = [
    path("s/<slug:code>/judge/start/", judging_views.start, name="start"),
    path("s/<slug:code>/judge/", judging_views.judge, name="judge"),
    path("studies/<int:pk>/dialogues/", views.dialogues, name="dialogues"),
    path("dialogues/<uuid:public_id>/", views.transcript, name="transcript"),
    path("dialogues/<uuid:public_id>/set-aside/", views.set_aside, name="set_aside"),
]
