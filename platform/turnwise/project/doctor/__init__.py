"""`turnwise doctor`: what is wrong with this installation, in sentences with the cure.

`system_checks` look at this machine and ask PostgreSQL and Redis; `database_checks` need Django.
"""
