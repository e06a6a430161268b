"""The question sets that come with Turnwise."""
