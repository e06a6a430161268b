from django.urls import path

from turnwise.exports import views

app_name = "exports"
urlpatterns = [
    path("studies/<int:pk>/turns.csv", views.turns_csv, name="turns_csv"),
    path("studies/<int:pk>/turns.jsonl", views.turns_jsonl, name="turns_jsonl"),
    path("studies/<int:pk>/chatrecords.csv", views.neural_chat_records, name="neural_chat_records"),
    path("studies/<int:pk>/chat_ratings.csv", views.neural_chat_ratings, name="neural_chat_ratings"),
    path(
        "studies/<int:pk>/conversations.json",
        views.topical_chat_conversations,
        name="topical_chat_conversations",
    ),
    path(
        "studies/<int:pk>/reading_sets.json",
        views.topical_chat_reading_sets,
        name="topical_chat_reading_sets",
    ),
    path("studies/<int:pk>/openai.jsonl", views.openai_messages, name="openai_messages"),
    path("studies/<int:pk>/sharegpt.jsonl", views.sharegpt, name="sharegpt"),
    path("studies/<int:pk>/dataset.zip", views.data_set, name="data_set"),
    path("studies/<int:pk>/turn_table.csv", views.turn_table_csv, name="turn_table_csv"),
    path("studies/<int:pk>/turn_table.xlsx", views.turn_table_workbook, name="turn_table_workbook"),
    path("studies/<int:pk>/inspect_logs.zip", views.inspect_logs, name="inspect_logs"),
    path("studies/<int:pk>/preferences.jsonl", views.preferences, name="preferences"),
    path("studies/<int:pk>/bundle/", views.bundle, name="bundle"),
    path("studies/<int:pk>/bundle/make/", views.make_bundle, name="make_bundle"),
    path("studies/<int:pk>/bundle/stamp/", views.bundle_stamp, name="bundle_stamp"),
    path("studies/<int:pk>/bundle.zip", views.bundle_file, name="bundle_file"),
]
