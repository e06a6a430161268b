"""Reading, describing and recomputing the bundle of a study."""
