"""The task of comparing pairs: two responses or two conversations side by side."""
