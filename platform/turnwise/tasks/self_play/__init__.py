"""Task in which chatbots talk with each other, or with themselves, in background jobs."""
