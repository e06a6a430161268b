"""Management commands of exports."""
