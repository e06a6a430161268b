"""The task of talking with two bots at once, and voting on which of them is better."""
