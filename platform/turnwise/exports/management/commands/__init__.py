"""Commands that write bundles."""
