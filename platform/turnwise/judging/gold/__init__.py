"""Gold items: items with a known answer, mixed into the queue."""
