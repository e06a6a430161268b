"""Static files under names that carry the hash of their content, and the imports between scripts."""
