from django.urls import path

from turnwise.workspace import views

app_name = "workspace"
urlpatterns = [
    path("home/", views.home, name="home"),
    path("studies/", views.studies, name="studies"),
    path("studies/<int:pk>/", views.overview, name="overview"),
]
