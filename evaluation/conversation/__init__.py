"""What conversations as such are like: pure functions of what was said."""
