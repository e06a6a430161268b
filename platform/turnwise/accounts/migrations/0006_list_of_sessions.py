from django.contrib.auth import BACKEND_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations
from django.utils import timezone

UNKNOWN_ADDRESS = "0.0.0.0"


def list_sessions(apps, schema_editor):
    """List the sessions of people who are signed in, so that "sign out everywhere else" ends them, too."""
    listed = apps.get_model("usersessions", "UserSession").objects
    valid = apps.get_model("sessions", "Session").objects.filter(expire_date__gt=timezone.now())
    known = set(apps.get_model("accounts", "User").objects.values_list("pk", flat=True))
    for session in valid.iterator():
        data = SessionStore().decode(session.session_data)
        if BACKEND_SESSION_KEY in data and str(data.get(SESSION_KEY, "")).isdecimal():
            pk = int(data[SESSION_KEY])
            if pk in known:
                listed.get_or_create(
                    session_key=session.session_key,
                    defaults={"user_id": pk, "ip": UNKNOWN_ADDRESS, "user_agent": ""},
                )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0005_invitations_by_mail"),
        ("sessions", "0001_initial"),
        ("usersessions", "0001_initial"),
    ]

    operations = [migrations.RunPython(list_sessions, migrations.RunPython.noop)]
