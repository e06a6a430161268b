"""Addresses of the page *Deleted*."""

from django.urls import path

from turnwise.trash import views

app_name = "trash"
urlpatterns = [
    path("deleted/", views.deleted, name="deleted"),
    path("deleted/<int:pk>/put-back/", views.put_back, name="put_back"),
]
