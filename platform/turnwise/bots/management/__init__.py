"""Commands of manage.py for bots."""
