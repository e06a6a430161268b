from django.urls import path

from turnwise.reports import views

app_name = "reports"
urlpatterns = [
    path("studies/<int:pk>/report/", views.report, name="study"),
    path("studies/<int:pk>/report/refresh/", views.refresh, name="refresh"),
    path("studies/<int:pk>/report/stamp/", views.stamp, name="stamp"),
    path("studies/<int:pk>/report/<slug:name>.svg", views.chart, {"kind": "svg"}, name="chart_svg"),
    path("studies/<int:pk>/report/<slug:name>.pdf", views.chart, {"kind": "pdf"}, name="chart_pdf"),
]
