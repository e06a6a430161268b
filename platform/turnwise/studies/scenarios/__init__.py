"""Tables of scenarios: their rows, and the field of a study's form."""
