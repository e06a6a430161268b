"""The tables of all tasks: Django looks for them here."""

from turnwise.tasks import discovery

list(discovery.parts_named("models"))
