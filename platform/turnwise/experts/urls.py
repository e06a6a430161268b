from django.urls import path

from turnwise.experts import adjudication_views, expert_views

app_name = "experts"
urlpatterns = [
    path("studies/<int:pk>/experts/", expert_views.experts, name="experts"),
    path("studies/<int:pk>/experts/invite/", expert_views.invite, name="invite"),
    path("studies/<int:pk>/experts/<int:expert>/", expert_views.change, name="change"),
    path("studies/<int:pk>/adjudication/", adjudication_views.items, name="items"),
    path("studies/<int:pk>/adjudication/gold/", adjudication_views.make_gold, name="make_gold"),
    path("studies/<int:pk>/adjudication/<uuid:key>/", adjudication_views.item, name="item"),
    path("adjudicate/<slug:secret>/", adjudication_views.enter, name="enter"),
]
