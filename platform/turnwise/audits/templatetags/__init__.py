"""Template tags with audit results."""
