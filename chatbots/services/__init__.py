"""Bots that run elsewhere: safe HTTP to addresses that users typed into a form."""
