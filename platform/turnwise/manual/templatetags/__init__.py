"""Template tags of the manual."""
