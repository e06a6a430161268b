from django.urls import path

from turnwise.rehearsals import views

app_name = "rehearsals"
urlpatterns = [
    path("studies/<int:pk>/rehearsal/", views.rehearsal, name="rehearsal"),
    path("studies/<int:pk>/rehearsal/stamp/", views.stamp, name="stamp"),
    path("studies/<int:pk>/rehearsal/start/", views.start, name="start"),
    path("studies/<int:pk>/rehearsal/delete/", views.delete, name="delete"),
]
