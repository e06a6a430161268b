"""Template tags of studies with workers."""
