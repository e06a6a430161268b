"""Quality of workers' data: qualification tests, attention checks, flags, and decisions about workers."""
