from django.urls import path, re_path

from turnwise.contexts import views

app_name = "contexts"
urlpatterns = [
    path("contexts/", views.sets, name="sets"),
    path("contexts/new/", views.new, name="new"),
    path("contexts/open-mtb/", views.load_open_mtb, name="load_open_mtb"),
    path("contexts/preview/<str:token>/", views.preview, name="preview"),
    path("contexts/<int:pk>/", views.show, name="set"),
    path("contexts/<int:pk>/import/", views.import_version, name="import"),
    path("contexts/<int:pk>/versions/<int:number>/", views.version, name="version"),
    path("contexts/<int:pk>/versions/<int:number>/subset/", views.subset, name="subset"),
    re_path(
        r"^contexts/(?P<pk>[0-9]+)/versions/(?P<number>[0-9]+)/contexts\.(?P<ending>jsonl|csv|txt)$",
        views.export,
        name="export",
    ),
]
