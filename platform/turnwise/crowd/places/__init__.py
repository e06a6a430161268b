"""Places: reserve, assign and end assignments; re-entry and pilot."""
