"""From message trees to token files: `reading`, `filters`, `building`, and `shards`, which training reads."""
