"""Routers of the tasks that have calls of their own."""

from turnwise.tasks import discovery

routers = [each.router for each in discovery.parts_named("api")]
