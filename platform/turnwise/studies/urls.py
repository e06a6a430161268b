from django.urls import path

from turnwise.studies import views
from turnwise.studies.plans import views as plan_views
from turnwise.studies.sharing import views as sharing_views

app_name = "studies"
urlpatterns = [
    path("studies/new/", views.new, name="new"),
    path("studies/outlook/", views.outlook, name="outlook"),
    path("studies/<int:pk>/edit/", views.edit, name="edit"),
    path("studies/<int:pk>/facets/", views.facets, name="facets"),
    path("studies/<int:pk>/opening/", views.opening, name="opening"),
    path("studies/<int:pk>/stopping/", plan_views.stopping, name="stopping"),
    path("studies/<int:pk>/stopping/remove/", plan_views.remove, name="remove_stopping"),
    path("studies/<int:pk>/plan/", plan_views.preregistration, name="preregistration"),
    path("studies/<int:pk>/plan/<slug:kind>/", plan_views.plan_file, name="plan_file"),
    path("studies/<int:pk>/sharing/", sharing_views.sharing, name="sharing"),
    path("studies/<int:pk>/sharing/<int:share>/", sharing_views.change_share, name="change_share"),
    path("studies/<int:pk>/transfer/", sharing_views.transfer, name="transfer"),
    path("studies/<int:pk>/transfer/offer/", sharing_views.offer_transfer, name="offer_transfer"),
    path("studies/<int:pk>/transfer/withdraw/", sharing_views.withdraw_transfer, name="withdraw_transfer"),
    path("studies/<int:pk>/transfer/accept/", sharing_views.accept_transfer, name="accept_transfer"),
    path("studies/<int:pk>/transfer/decline/", sharing_views.decline_transfer, name="decline_transfer"),
    path("people/<int:person>/studies/", sharing_views.hand_over, name="hand_over"),
    path("studies/<int:pk>/tags/", views.tags, name="tags"),
    path("studies/<int:pk>/clone/", views.clone, name="clone"),
    path("studies/<int:pk>/archive/", views.archive, name="archive"),
    path("studies/<int:pk>/state/", views.set_state, name="set_state"),
]
