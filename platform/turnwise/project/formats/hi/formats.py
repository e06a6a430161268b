"""Format of times in Hindi, for which Django would take the American one."""

DATETIME_FORMAT = "j F Y, H:i"
