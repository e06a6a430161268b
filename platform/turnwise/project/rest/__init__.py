"""The REST API as a whole: its description, scopes of tokens, repeated requests and rate limits."""
