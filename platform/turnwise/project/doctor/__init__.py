"""`turnwise doctor`: what is wrong with this installation, in sentences with the cure.

`machine_checks` need no database; `service_checks` ask PostgreSQL and Redis; `database_checks` need Django.
"""
