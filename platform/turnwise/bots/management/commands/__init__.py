"""`manage.py hostbots`."""
