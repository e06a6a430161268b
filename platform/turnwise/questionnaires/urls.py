from django.urls import path, re_path

from turnwise.questionnaires import views

app_name = "questionnaires"
urlpatterns = [
    path("s/<slug:code>/before/", views.before, name="before"),
    path("s/<slug:code>/after/", views.after, name="after"),
    re_path(
        r"^studies/(?P<pk>[0-9]+)/questionnaires/(?P<moment>before|after)/$", views.preview, name="preview"
    ),
]
