from django.urls import path

from studies import views

app_name = "studies"
urlpatterns = [
    path("", views.home, name="home"),
    path("studies/new/", views.new, name="new"),
    path("studies/<int:pk>/edit/", views.edit, name="edit"),
    path("studies/<int:pk>/state/", views.set_state, name="set_state"),
]
