from django.urls import path

from turnwise.tasks.conversation import views

app_name = "conversation"
urlpatterns = [
    path("s/<slug:code>/start/", views.start, name="start"),
    path("s/<slug:code>/chat/", views.chat, name="chat"),
]
