from django.urls import path

from turnwise.knowledge import views

app_name = "knowledge"
urlpatterns = [
    path("knowledge/", views.bases, name="bases"),
    path("knowledge/new/", views.new, name="new"),
    path("knowledge/open-knowledge/", views.load_shipped, name="load_shipped"),
    path("knowledge/preview/<str:token>/", views.preview, name="preview"),
    path("knowledge/<int:pk>/", views.show, name="base"),
    path("knowledge/<int:pk>/import/", views.import_version, name="import"),
    path("knowledge/<int:pk>/share/", views.share, name="share"),
    path("knowledge/<int:pk>/versions/<int:number>/", views.version, name="version"),
    path("knowledge/<int:pk>/versions/<int:number>/base.json", views.export, name="export"),
    path("knowledge/<int:pk>/versions/<int:number>/entities/<int:entity>/", views.entity, name="entity"),
    path("knowledge/<int:pk>/versions/<int:number>/articles/<int:article>/", views.article, name="article"),
]
