"""Task in which workers write responses to given contexts."""
