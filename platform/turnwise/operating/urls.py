from django.urls import path

from turnwise.operating import views

app_name = "operating"
urlpatterns = [path("bots/<slug:name>/operate/", views.operate, name="operate")]
