"""The admin pages of all tasks."""

from turnwise.tasks import discovery

list(discovery.parts_named("admin"))
