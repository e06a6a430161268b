"""Addresses of the pages of webhooks."""

from django.urls import path

from turnwise.webhooks import views

app_name = "webhooks"
urlpatterns = [
    path("account/mails/", views.mail_choice, name="mail_choice"),
    path("account/mails/end/<str:token>/", views.end_mails, name="end_mails"),
    path("webhooks/", views.webhooks, name="webhooks"),
    path("webhooks/<int:pk>/", views.webhook, name="webhook"),
    path("webhooks/<int:pk>/rotate/", views.rotate_secret, name="rotate_secret"),
    path("webhooks/<int:pk>/switch/", views.set_active, name="set_active"),
    path("webhooks/<int:pk>/delete/", views.delete, name="delete"),
    path("webhooks/<int:pk>/test/", views.send_test, name="send_test"),
    path("webhooks/<int:pk>/deliveries/<int:delivery>/send/", views.resend, name="resend"),
]
