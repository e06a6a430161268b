from django.urls import path

from turnwise.tasks.pairs import views

app_name = "pairs"
urlpatterns = [
    path("s/<slug:code>/compare/start/", views.start, name="start"),
    path("s/<slug:code>/compare/", views.compare, name="compare"),
    path("studies/<int:pk>/queue/pairs/", views.add, name="add"),
]
