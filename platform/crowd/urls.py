from django.urls import path

from crowd import views

app_name = "crowd"
urlpatterns = [
    path("s/<slug:code>/", views.enter, name="enter"),
    path("s/<slug:code>/consent/", views.consent, name="consent"),
    path("s/<slug:code>/resume/", views.resume, name="resume"),
    path("s/<slug:code>/instructions/", views.instructions, name="instructions"),
    path("s/<slug:code>/thanks/", views.thanks, name="thanks"),
]
