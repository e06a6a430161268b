import os

from django.core.wsgi import get_wsgi_application
from django.urls import reverse

from turnwise.project.uwsgi_pages import let_in

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
application = get_wsgi_application()
reverse("crowd:thanks", args=["-"])  # all pages are imported, and found by name, before anybody asks
let_in()
