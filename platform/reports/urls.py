from django.urls import path, re_path

from reports import participant_views, views
from reports.across import bot_views
from reports.across import views as across

app_name = "reports"
urlpatterns = [
    path("studies/", views.studies, name="studies"),
    path("studies/<int:pk>/", views.overview, name="overview"),
    path("studies/<int:pk>/report/", views.report, name="study"),
    path("studies/<int:pk>/report/refresh/", views.refresh, name="refresh"),
    path("studies/<int:pk>/report/stamp/", views.stamp, name="stamp"),
    path("studies/<int:pk>/report/<slug:name>.svg", views.chart, {"kind": "svg"}, name="chart_svg"),
    path("studies/<int:pk>/report/<slug:name>.pdf", views.chart, {"kind": "pdf"}, name="chart_pdf"),
    path("studies/<int:pk>/turns.csv", views.export_csv, name="export_csv"),
    path("studies/<int:pk>/turns.jsonl", views.export_jsonl, name="export_jsonl"),
    path("studies/<int:pk>/participants/", participant_views.participants, name="participants"),
    path("studies/<int:pk>/participants.csv", participant_views.participants_csv, name="participants_csv"),
    path("compare/", across.side_by_side, name="compare"),
    path("compare/studies.csv", across.side_by_side_csv, name="compare_csv"),
    path("compare/perplexity/", across.relation, {"page": "perplexity"}, name="perplexity"),
    path("compare/human-likeness/", across.relation, {"page": "human-likeness"}, name="human_likeness"),
    re_path(
        r"^compare/(?P<page>studies|perplexity|human-likeness)/(?P<name>[\w-]+)\.(?P<ending>svg|pdf)$",
        across.chart,
        name="compare_chart",
    ),
    path("bots/<slug:name>/history/", bot_views.bot, name="bot"),
    path("bots/<slug:name>/versions/<int:pk>/perplexity/", bot_views.perplexity, name="bot_perplexity"),
    re_path(
        r"^bots/(?P<name>[\w-]+)/history/(?P<chart>[\w-]+)\.(?P<ending>svg|pdf)$",
        bot_views.chart,
        name="bot_chart",
    ),
    path("studies/<int:pk>/bundle.zip", views.bundle, name="bundle"),
    path("studies/<int:pk>/rehearsal/delete/", views.delete_rehearsal, name="delete_rehearsal"),
]
