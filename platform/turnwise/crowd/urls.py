"""Addresses of the crowd's pages and of the preview's socket."""

from typing import Any

from django.urls import path

from turnwise.crowd import preview
from turnwise.crowd.entry import arrival_views, worker_views
from turnwise.crowd.panels import panel_views
from turnwise.crowd.pay import payment_views
from turnwise.crowd.preview import PreviewConsumer
from turnwise.crowd.running import participant_views, running_views

# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = PreviewConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/previews/<int:pk>/", consumer)]


app_name = "crowd"
urlpatterns = [
    path("s/<slug:code>/", arrival_views.enter, name="enter"),
    path("s/<slug:code>/seen/", arrival_views.seen, name="seen"),
    path("s/<slug:code>/consent/", arrival_views.consent, name="consent"),
    path("s/<slug:code>/resume/", arrival_views.resume, name="resume"),
    path("s/<slug:code>/instructions/", worker_views.instructions, name="instructions"),
    path("s/<slug:code>/practice/", worker_views.practise, name="practice"),
    path("s/<slug:code>/thanks/", worker_views.thanks, name="thanks"),
    path("s/<slug:code>/place-taken/", worker_views.place_gone, name="place_gone"),
    path("s/<slug:code>/again/", arrival_views.re_enter, name="again"),
    path("s/<slug:code>/leave/", worker_views.leave, name="leave"),
    path("studies/<int:pk>/pause/", running_views.pause, name="pause"),
    path("studies/<int:pk>/resume/", running_views.resume, name="resume_study"),
    path("studies/<int:pk>/pilot/", running_views.go_on, name="go_on"),
    path("studies/<int:pk>/message/", running_views.tell, name="tell"),
    path("studies/<int:pk>/limits/", running_views.limits, name="limits"),
    path("studies/<int:pk>/panels/", panel_views.panels, name="panels"),
    path("studies/<int:pk>/panels/invite/", panel_views.invite, name="invite"),
    path("studies/<int:pk>/invitations.csv", panel_views.invitations_csv, name="invitations_csv"),
    path("studies/<int:pk>/participants/<int:participation>/end/", participant_views.end, name="end"),
    path("studies/<int:pk>/prolific/", payment_views.prolific, name="prolific"),
    path("studies/<int:pk>/prolific/steer/", payment_views.steer, name="prolific_steer"),
    path("studies/<int:pk>/prolific/bonuses/", payment_views.bonuses, name="prolific_bonuses"),
    path("studies/<int:pk>/prolific/<int:act>/", payment_views.settle, name="prolific_settle"),
    path("studies/<int:pk>/participants/<int:participation>/write/", payment_views.write, name="write"),
    path("studies/<int:pk>/payments/", payment_views.payments, name="payments"),
    path("studies/<int:pk>/payments.csv", payment_views.payment_file, name="payment_file"),
    path("studies/<int:pk>/payments/pay/", payment_views.pay, name="pay"),
    path("studies/<int:pk>/payments/chosen/", payment_views.pay_chosen, name="pay_chosen"),
    path("studies/<int:pk>/payments/<int:participation>/", payment_views.change, name="change_pay"),
    path("studies/<int:pk>/preview/", preview.preview, name="preview"),
    path("studies/<int:pk>/preview/<slug:page>/", preview.preview_page, name="preview_page"),
    path("studies/<int:pk>/participants/", participant_views.participants, name="participants"),
    path("studies/<int:pk>/participants/act/", participant_views.act, name="act"),
    path("studies/<int:pk>/participants/exclude/", participant_views.exclude, name="exclude"),
    path("studies/<int:pk>/participants.csv", participant_views.participants_csv, name="participants_csv"),
]
