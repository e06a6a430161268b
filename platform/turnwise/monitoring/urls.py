from django.urls import path

from turnwise.monitoring import views

app_name = "monitoring"
urlpatterns = [path("studies/<int:pk>/monitor/", views.monitor, name="monitor")]
