from django.urls import path

from turnwise.transcripts import import_views, relay_views

app_name = "transcripts"
urlpatterns = [
    path("studies/<int:pk>/imports/", import_views.imports, name="imports"),
    path("studies/<int:pk>/imports/upload/", import_views.upload, name="upload"),
    path("studies/<int:pk>/relay/", relay_views.begin, name="begin_relay"),
    path("imports/<int:pk>/", import_views.one, name="import"),
    path("imports/<int:pk>/stamp/", import_views.stamp, name="import_stamp"),
    path("imports/<int:pk>/format/", import_views.set_format, name="import_format"),
    path("imports/<int:pk>/columns/", import_views.set_columns, name="import_columns"),
    path("imports/<int:pk>/confirm/", import_views.confirm, name="import_confirm"),
    path("imports/<int:pk>/undo/", import_views.undo, name="import_undo"),
    path("relays/<int:pk>/", relay_views.relay, name="relay"),
    path("relays/<int:pk>/turn/", relay_views.add_turn, name="relay_turn"),
    path("relays/<int:pk>/turns/", relay_views.correct, name="relay_correct"),
    path("relays/<int:pk>/finish/", relay_views.finish, name="relay_finish"),
    path("relays/<int:pk>/discard/", relay_views.discard, name="relay_discard"),
]
