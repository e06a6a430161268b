from django.urls import path

from reports import views

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
    path("studies/<int:pk>/bundle.zip", views.bundle, name="bundle"),
    path("studies/<int:pk>/rehearsal/delete/", views.delete_rehearsal, name="delete_rehearsal"),
]
