"""Template filters that print numbers."""
