from django.urls import path

from exports import views

app_name = "exports"
urlpatterns = [
    path("studies/<int:pk>/turns.csv", views.turns_csv, name="turns_csv"),
    path("studies/<int:pk>/turns.jsonl", views.turns_jsonl, name="turns_jsonl"),
    path("studies/<int:pk>/bundle.zip", views.bundle, name="bundle"),
]
