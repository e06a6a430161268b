"""Between-subject factors: reading, the form field, and what people in each condition get."""
