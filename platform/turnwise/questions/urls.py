from django.urls import path

from turnwise.questions import views

app_name = "questions"
urlpatterns = [
    path("questions/", views.sets, name="sets"),
    path("questions/new/", views.new, name="new"),
    path("questions/import/", views.import_set, name="import"),
    path("questions/preview/", views.preview, name="preview"),
    path("questions/keys/<slug:key>/", views.questions, name="questions"),
    path("questions/keys/<slug:key>/worker/", views.as_worker, name="as_worker"),
    path("questions/keys/<slug:key>/questions.json", views.export, name="export"),
    path("questions/<slug:name>/", views.researcher_set, name="set"),
    path("questions/<slug:name>/edit/", views.edit, name="edit"),
    path("questions/<slug:name>/import/", views.import_version, name="import_version"),
    path("questions/<slug:name>/share/", views.share, name="share"),
    path("questions/<slug:name>/archive/", views.archive, name="archive"),
]
