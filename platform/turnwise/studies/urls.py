from django.urls import path

from turnwise.studies import facet_views, sharing_views, views

app_name = "studies"
urlpatterns = [
    path("", views.home, name="home"),
    path("studies/new/", views.new, name="new"),
    path("studies/outlook/", views.outlook, name="outlook"),
    path("studies/<int:pk>/edit/", views.edit, name="edit"),
    path("studies/<int:pk>/facets/", facet_views.facets, name="facets"),
    path("studies/<int:pk>/opening/", views.opening, name="opening"),
    path("studies/<int:pk>/sharing/", sharing_views.sharing, name="sharing"),
    path("studies/<int:pk>/sharing/stop/", sharing_views.stop, name="stop_sharing"),
    path("studies/<int:pk>/tags/", sharing_views.tags, name="tags"),
    path("studies/<int:pk>/clone/", views.clone, name="clone"),
    path("studies/<int:pk>/archive/", views.archive, name="archive"),
    path("studies/<int:pk>/state/", views.set_state, name="set_state"),
]
