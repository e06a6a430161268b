"""Template tags of the workspace's pages."""
