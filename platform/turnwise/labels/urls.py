from django.urls import path

from turnwise.labels import views

app_name = "labels"
urlpatterns = [
    path("studies/<int:pk>/dialogues/", views.dialogues, name="dialogues"),
    path("dialogues/<uuid:public_id>/", views.transcript, name="transcript"),
    path("dialogues/<uuid:public_id>/exclude/", views.exclude, name="exclude"),
]
