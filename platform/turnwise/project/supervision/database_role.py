"""The database role of the application: it reads and writes rows, and owns nothing.

`manage.py bootstrap` and `manage.py restore` connect as the owner of the tables. Everything else connects as
this role, which can neither change a table, switch off a trigger, nor empty a table with TRUNCATE.
"""

from contextlib import closing

import psycopg2
from psycopg2.extensions import cursor, parse_dsn
from psycopg2.sql import SQL, Identifier, Literal

_RIGHTS = """
GRANT CONNECT, TEMPORARY ON DATABASE {database} TO {role};
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
GRANT SELECT, USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};
"""
# For what later migrations make. Of every schema: a restored backup brings a new schema "public".
_LATER_RIGHTS = """
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO {role};
ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role};
ALTER DEFAULT PRIVILEGES GRANT SELECT, USAGE ON SEQUENCES TO {role};
"""


def grant_application(owner: str, application: str) -> None:
    """Create the role of the application if it is missing, and give it its rights. Safe to repeat.

    Args:
        owner: address of the database as the role that owns its tables and may create roles.
        application: address of the same database as the role of the application; a role that is created
            gets its password.
    """
    wanted = parse_dsn(application)
    role, database = wanted["user"], wanted["dbname"]
    with closing(psycopg2.connect(owner)) as connection, connection, connection.cursor() as session:
        session.execute("SELECT session_user")
        if session.fetchone() == (role,):
            return  # one role for everything
        if not _has_rights(session, role):
            _create(session, role, wanted.get("password"))
            names = {"role": Identifier(role), "database": Identifier(database)}
            session.execute(SQL(_RIGHTS + _LATER_RIGHTS).format(**names))


def _has_rights(session: cursor, role: str) -> bool:
    """True if the role has its rights in this database; one transaction grants all of them."""
    session.execute(
        "SELECT FROM pg_default_acl, aclexplode(defaclacl) AS given"
        " JOIN pg_roles ON pg_roles.oid = given.grantee WHERE rolname = %s",
        [role],
    )
    return session.rowcount > 0


def _create(session: cursor, role: str, password: str | None) -> None:
    """Create the role, unless an administrator of the database did."""
    session.execute("SELECT FROM pg_roles WHERE rolname = %s", [role])
    if not session.rowcount:
        session.execute(SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(Identifier(role), Literal(password)))
