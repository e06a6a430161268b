"""Traces by OpenTelemetry: pages, turns, requests to bots, jobs and database statements as spans.

Off unless `TURNWISE_TRACES` names a collector: without it no exporter is loaded, and a traced
function costs one comparison more. Spans hold ids and routes, never a text or an address that a person sent.
"""
