from django.urls import path

from turnwise.front_door import views

app_name = "front_door"
urlpatterns = [
    path("", views.front_page, name="front_page"),
    path("demo/reply/", views.demo_reply, name="demo_reply"),
    path("examples/", views.example_reports, name="examples"),
    path("examples/<slug:key>/", views.example_report, name="example"),
    path("logo", views.logo, name="logo"),
    path("imprint/", views.imprint, name="imprint"),
    path("privacy-notice/", views.privacy_notice, name="privacy_notice"),
]
