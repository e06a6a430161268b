from django.urls import path

from tasks.judging import training_views, views

app_name = "judging_task"
urlpatterns = [
    path("s/<slug:code>/training/", training_views.practise, name="practise"),
    path("s/<slug:code>/judge/start/", views.start, name="start"),
    path("s/<slug:code>/judge/", views.judge, name="judge"),
]
