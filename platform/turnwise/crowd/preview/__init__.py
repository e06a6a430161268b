"""Preview of a study's worker pages for researchers."""
