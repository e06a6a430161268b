from django.urls import path

from rehearsals import views

app_name = "rehearsals"
urlpatterns = [path("studies/<int:pk>/rehearsal/delete/", views.delete, name="delete")]
