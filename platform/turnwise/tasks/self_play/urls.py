from django.urls import path

from turnwise.tasks.self_play import views

app_name = "self_play"
urlpatterns = [
    path("studies/<int:pk>/self-play/stamp/", views.stamp, name="stamp"),
    path("studies/<int:pk>/self-play/measures.csv", views.measures_csv, name="measures_csv"),
    path("studies/<int:pk>/self-play/conversations.jsonl", views.json_lines, name="json_lines"),
]
