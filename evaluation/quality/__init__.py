"""Signs of how carefully somebody worked, each a pure function of what they did. A sign is no verdict."""
