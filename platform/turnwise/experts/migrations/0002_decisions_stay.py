from django.db import migrations

TRIGGERS = """
CREATE OR REPLACE TRIGGER decision_only_by_erasure BEFORE UPDATE ON experts_adjudication
   FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION accounts_only_by_erasure();
CREATE OR REPLACE TRIGGER decision_deleted_only_by_erasure AFTER DELETE ON experts_adjudication
   REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
CREATE OR REPLACE TRIGGER decisions_are_never_emptied BEFORE TRUNCATE ON experts_adjudication
   FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
"""
NONE = """
DROP TRIGGER decision_only_by_erasure ON experts_adjudication;
DROP TRIGGER decision_deleted_only_by_erasure ON experts_adjudication;
DROP TRIGGER decisions_are_never_emptied ON experts_adjudication;
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_erasures_are_logged"), ("experts", "0001_initial")]

    operations = [migrations.RunSQL(TRIGGERS, NONE)]
