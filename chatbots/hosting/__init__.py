"""A loaded bot on its own thread: requests, queue, circuit breaker, checks of responses, and health."""
