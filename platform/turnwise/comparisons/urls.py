from django.urls import path, re_path

from turnwise.comparisons import bot_views, planner_views, sweep_views, views

app_name = "comparisons"
urlpatterns = [
    path("plan/", planner_views.planner, name="plan"),
    re_path(r"^plan/plan\.(?P<ending>svg|pdf)$", planner_views.plan_chart, name="plan_chart"),
    path("compare/", views.side_by_side, name="compare"),
    path("compare/studies.csv", views.side_by_side_csv, name="compare_csv"),
    path("compare/perplexity/", views.relation, {"page": "perplexity"}, name="perplexity"),
    path("compare/human-likeness/", views.relation, {"page": "human-likeness"}, name="human_likeness"),
    re_path(
        r"^compare/(?P<page>studies|perplexity|human-likeness)/(?P<name>[\w-]+)\.(?P<ending>svg|pdf)$",
        views.chart,
        name="compare_chart",
    ),
    path("bots/<slug:name>/sweeps/", sweep_views.sweeps_of_bot, name="sweeps"),
    path("bots/<slug:name>/sweeps/<int:pk>/", sweep_views.sweep, name="sweep"),
    path("bots/<slug:name>/sweeps/<int:pk>/stamp/", sweep_views.sweep_stamp, name="sweep_stamp"),
    path("bots/<slug:name>/sweeps/<int:pk>/stop/", sweep_views.stop_sweep, name="stop_sweep"),
    path("bots/<slug:name>/sweeps/<int:pk>/continue/", sweep_views.continue_sweep, name="continue_sweep"),
    path("bots/<slug:name>/sweeps/<int:pk>/judge/", sweep_views.judge_sweep, name="judge_sweep"),
    path("bots/<slug:name>/sweeps/<int:pk>/sweep.csv", sweep_views.sweep_csv, name="sweep_csv"),
    re_path(
        r"^bots/(?P<name>[\w-]+)/sweeps/(?P<pk>[0-9]+)/sweep\.(?P<ending>svg|pdf)$",
        sweep_views.sweep_chart,
        name="sweep_chart",
    ),
    path("bots/<slug:name>/history/", bot_views.bot, name="bot"),
    path("bots/<slug:name>/versions/<int:pk>/perplexity/", bot_views.perplexity, name="bot_perplexity"),
    re_path(
        r"^bots/(?P<name>[\w-]+)/history/(?P<chart>[\w-]+)\.(?P<ending>svg|pdf)$",
        bot_views.chart,
        name="bot_chart",
    ),
]
