from django.urls import path

from turnwise.studies import views
from turnwise.studies.plans import preregistration_views, stopping_views

app_name = "studies"
urlpatterns = [
    path("studies/new/", views.new, name="new"),
    path("studies/outlook/", views.outlook, name="outlook"),
    path("studies/<int:pk>/edit/", views.edit, name="edit"),
    path("studies/<int:pk>/facets/", views.facets, name="facets"),
    path("studies/<int:pk>/opening/", views.opening, name="opening"),
    path("studies/<int:pk>/stopping/", stopping_views.stopping, name="stopping"),
    path("studies/<int:pk>/stopping/remove/", stopping_views.remove, name="remove_stopping"),
    path("studies/<int:pk>/plan/", preregistration_views.preregistration, name="preregistration"),
    path("studies/<int:pk>/plan/<slug:kind>/", preregistration_views.plan_file, name="plan_file"),
    path("studies/<int:pk>/sharing/", views.sharing, name="sharing"),
    path("studies/<int:pk>/sharing/stop/", views.stop, name="stop_sharing"),
    path("studies/<int:pk>/tags/", views.tags, name="tags"),
    path("studies/<int:pk>/clone/", views.clone, name="clone"),
    path("studies/<int:pk>/archive/", views.archive, name="archive"),
    path("studies/<int:pk>/state/", views.set_state, name="set_state"),
]
