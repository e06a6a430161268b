from django.urls import include, path

from turnwise.tasks import discovery

urlpatterns = [path("", include(each)) for each in discovery.each("urls")]
