from django.urls import path

from turnwise.tasks.writing import views

app_name = "writing"
urlpatterns = [
    path("s/<slug:code>/write/start/", views.start, name="start"),
    path("s/<slug:code>/write/", views.write, name="write"),
]
