"""Addresses of the REST API, which `project/urls.py` names without importing them.

They take a third of a server's start, so a process imports them with its first request below /api/.
"""

from django.urls import re_path

from turnwise.project.api import api, nothing_there

urlpatterns = [*api.urls[0], re_path(r"^[\s\S]*", nothing_there, name="elsewhere")]
