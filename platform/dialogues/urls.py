from django.urls import path

from dialogues import views

app_name = "dialogues"
urlpatterns = [
    path("s/<slug:code>/start/", views.start, name="start"),
    path("s/<slug:code>/chat/", views.chat, name="chat"),
]
