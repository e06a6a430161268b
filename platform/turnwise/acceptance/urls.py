from django.urls import path

from turnwise.acceptance import views

app_name = "acceptance"
urlpatterns = [
    path("studies/<int:pk>/review/", views.review, name="review"),
    path("studies/<int:pk>/review/limits/", views.set_limits, name="limits"),
    path("studies/<int:pk>/review/accept/", views.accept_fitting, name="accept_fitting"),
    path("studies/<int:pk>/review/<uuid:public_id>/", views.decide, name="decide"),
]
