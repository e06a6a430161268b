"""The tables of all tasks: Django looks for them here."""

from tasks import discovery

list(discovery.each("models"))
