"""Bots that run elsewhere: one careful way to talk HTTP to addresses that people typed into a form."""
