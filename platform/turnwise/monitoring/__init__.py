"""Monitor of a running study: the funnel of its workers, response times and failures of its bots."""
