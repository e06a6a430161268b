from django.urls import path

from labels import bot_views, item_views, judging_views, views

app_name = "labels"
urlpatterns = [
    path("s/<slug:code>/judge/start/", judging_views.start, name="start"),
    path("s/<slug:code>/judge/", judging_views.judge, name="judge"),
    path("studies/<int:pk>/dialogues/", views.dialogues, name="dialogues"),
    path("studies/<int:pk>/readers/", views.readers, name="readers"),
    path("studies/<int:pk>/queue/", item_views.queue, name="queue"),
    path("studies/<int:pk>/queue/add/", item_views.add, name="add"),
    path("studies/<int:pk>/items/", item_views.items, name="items"),
    path("studies/<int:pk>/items/<uuid:key>/", item_views.item, name="item"),
    path("studies/<int:pk>/items/<uuid:key>/set-aside/", item_views.set_aside, name="set_aside_rater"),
    path("bots/<slug:name>/judged/", bot_views.judged, name="bot"),
    path("dialogues/<uuid:public_id>/", views.transcript, name="transcript"),
    path("dialogues/<uuid:public_id>/set-aside/", views.set_aside, name="set_aside"),
]
