from django.urls import path, re_path

from turnwise.judges import views

app_name = "judges"
_RUN = "studies/<int:pk>/judges/<int:run_id>"
urlpatterns = [
    path("studies/<int:pk>/judges/", views.judges, name="judges"),
    path("studies/<int:pk>/judges/start/", views.start, name="start"),
    path(f"{_RUN}/", views.run, name="run"),
    path(f"{_RUN}/stamp/", views.stamp, name="stamp"),
    path(f"{_RUN}/cancel/", views.cancel, name="cancel"),
    path(f"{_RUN}/continue/", views.go_on, name="go_on"),
    re_path(
        r"^studies/(?P<pk>[0-9]+)/judges/(?P<run_id>[0-9]+)/labels\.(?P<ending>csv|jsonl)$",
        views.export,
        name="export",
    ),
]
