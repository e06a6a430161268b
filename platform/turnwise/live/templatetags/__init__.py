"""Template tags for icons, Markdown and scripts."""
