"""Task in which two workers meet in a lobby, talk with each other, and judge what was written."""
