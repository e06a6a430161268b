from django.urls import path

from turnwise.exports import views
from turnwise.exports.study_files import FILES

app_name = "exports"
urlpatterns = [
    path("studies/<int:pk>/bundle/", views.bundle, name="bundle"),
    path("studies/<int:pk>/bundle/make/", views.make_bundle, name="make_bundle"),
    path("studies/<int:pk>/bundle/stamp/", views.bundle_stamp, name="bundle_stamp"),
    path("studies/<int:pk>/bundle.zip", views.bundle_file, name="bundle_file"),
    *(path(f"studies/<int:pk>/{name}", views.study_file, {"name": name}, name=name) for name in FILES),
]
