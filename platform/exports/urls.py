from django.urls import path

from exports import views

app_name = "exports"
urlpatterns = [
    path("studies/<int:pk>/turns.csv", views.turns_csv, name="turns_csv"),
    path("studies/<int:pk>/turns.jsonl", views.turns_jsonl, name="turns_jsonl"),
    path("studies/<int:pk>/chatrecords.csv", views.neural_chat_records, name="neural_chat_records"),
    path("studies/<int:pk>/chat_ratings.csv", views.neural_chat_ratings, name="neural_chat_ratings"),
    path("studies/<int:pk>/bundle.zip", views.bundle, name="bundle"),
]
