from django.urls import path

from crowd import (
    entry_views,
    panel_views,
    participant_views,
    payment_views,
    practice_views,
    preview_views,
    views,
)

app_name = "crowd"
urlpatterns = [
    path("s/<slug:code>/", entry_views.enter, name="enter"),
    path("s/<slug:code>/consent/", entry_views.consent, name="consent"),
    path("s/<slug:code>/resume/", entry_views.resume, name="resume"),
    path("s/<slug:code>/instructions/", views.instructions, name="instructions"),
    path("s/<slug:code>/practice/", practice_views.practise, name="practice"),
    path("s/<slug:code>/thanks/", views.thanks, name="thanks"),
    path("s/<slug:code>/leave/", views.leave, name="leave"),
    path("studies/<int:pk>/panels/", panel_views.panels, name="panels"),
    path("studies/<int:pk>/panels/invite/", panel_views.invite, name="invite"),
    path("studies/<int:pk>/invitations.csv", panel_views.invitations_csv, name="invitations_csv"),
    path("studies/<int:pk>/participants/<int:participation>/end/", participant_views.end, name="end"),
    path("studies/<int:pk>/payments/", payment_views.payments, name="payments"),
    path("studies/<int:pk>/payments.csv", payment_views.payment_file, name="payment_file"),
    path("studies/<int:pk>/payments/pay/", payment_views.pay, name="pay"),
    path("studies/<int:pk>/payments/<int:participation>/", payment_views.change, name="change_pay"),
    path("studies/<int:pk>/preview/", preview_views.preview, name="preview"),
    path("studies/<int:pk>/practice/", practice_views.preview, name="practice_preview"),
    path("studies/<int:pk>/participants/", participant_views.participants, name="participants"),
    path("studies/<int:pk>/participants/exclude/", participant_views.exclude, name="exclude"),
    path("studies/<int:pk>/participants.csv", participant_views.participants_csv, name="participants_csv"),
]
