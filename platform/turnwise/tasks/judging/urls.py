from typing import Any

from django.urls import path, re_path

from turnwise.tasks.judging import context_views, second_group_views, training_views, views
from turnwise.tasks.judging.consumers import JudgingConsumer

app_name = "judging_task"
urlpatterns = [
    path("s/<slug:code>/training/", training_views.practise, name="practise"),
    path("s/<slug:code>/judge/start/", views.start, name="start"),
    path("s/<slug:code>/judge/", views.judge, name="judge"),
    path("studies/<int:pk>/report/contexts/", context_views.contexts, name="contexts"),
    path("studies/<int:pk>/report/contexts/<int:context>/", context_views.context, name="context"),
    re_path(
        r"^studies/(?P<pk>[0-9]+)/report/contexts/(?P<context>[0-9]{1,18})\.(?P<ending>csv|tex)$",
        context_views.context_file,
        name="context_file",
    ),
    path("studies/<int:pk>/second-group/", second_group_views.second_groups, name="second_groups"),
    path("studies/<int:pk>/second-group/<int:other>/", second_group_views.both_groups, name="both_groups"),
    path(
        "studies/<int:pk>/second-group/<int:other>/groups.csv",
        second_group_views.both_groups_csv,
        name="both_groups_csv",
    ),
]


# Django types `path` for views only; Channels' router takes consumers, too.
consumer: Any = JudgingConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/batches/<uuid:public_id>/", consumer)]
