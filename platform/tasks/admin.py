"""The admin pages of all tasks."""

from tasks import discovery

list(discovery.each("admin"))
