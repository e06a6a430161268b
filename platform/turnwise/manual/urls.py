from django.urls import path

from turnwise.manual import views

app_name = "manual"
urlpatterns = [
    path("manual/", views.index, name="index"),
    path("manual/pictures/<str:name>", views.picture, name="picture"),
    path("manual/<path:name>/", views.page, name="page"),
]
