"""Signs of careless work, as pure functions of what a worker did. A sign is not a verdict."""
