from django.urls import path, re_path

from turnwise.responses import views

app_name = "responses"
urlpatterns = [
    path("responses/", views.runs, name="runs"),
    path("responses/new/", views.new, name="new"),
    path("responses/upload/", views.upload, name="upload"),
    path("responses/preview/<str:token>/", views.preview, name="preview"),
    path("responses/<int:pk>/", views.run, name="run"),
    path("responses/<int:pk>/stamp/", views.stamp, name="stamp"),
    path("responses/<int:pk>/cancel/", views.cancel, name="cancel"),
    path("responses/<int:pk>/retry/", views.retry, name="retry"),
    re_path(r"^responses/(?P<pk>[0-9]+)/responses\.(?P<ending>jsonl|csv)$", views.export, name="export"),
]
