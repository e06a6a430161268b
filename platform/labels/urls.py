from django.urls import path

from labels import views

app_name = "labels"
urlpatterns = [
    path("studies/<int:pk>/dialogues/", views.dialogues, name="dialogues"),
    path("dialogues/<uuid:public_id>/", views.transcript, name="transcript"),
    path("dialogues/<uuid:public_id>/set-aside/", views.set_aside, name="set_aside"),
]
