from django.urls import path

from turnwise.tasks.two_people import views

app_name = "two_people"
urlpatterns = [
    path("s/<slug:code>/meet/start/", views.start, name="start"),
    path("s/<slug:code>/meet/", views.talk, name="talk"),
]
