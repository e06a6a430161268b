from django.urls import path

from turnwise.bots import views
from turnwise.bots.small_model.views import add_small_model

app_name = "bots"
urlpatterns = [
    path("bots/", views.bots, name="bots"),
    path("bots/new/", views.choose, name="choose"),
    path("bots/found/", views.find, name="found"),
    path("bots/side-by-side/", views.side_by_side, name="side_by_side"),
    path("bots/small-model/", add_small_model, name="add_small_model"),
    path("bots/new/<slug:adapter>/", views.new, name="new"),
    path("bots/<slug:name>/", views.bot, name="bot"),
    path("bots/<slug:name>/edit/", views.edit, name="edit"),
    path("bots/<slug:name>/active/", views.set_active, name="set_active"),
    path("bots/<slug:name>/watch/", views.watch, name="watch"),
    path("bots/<slug:name>/prices/", views.prices, name="prices"),
    path("bots/<slug:name>/budget/", views.budget, name="budget"),
    path("bots/<slug:name>/try/", views.try_out, name="try"),
    path("bots/<slug:name>/try/reply/", views.try_reply, name="try_reply"),
]
