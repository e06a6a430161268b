"""The alert rules and the dashboard's expressions, evaluated by Prometheus's own tool."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
PROMTOOL = shutil.which(os.environ.get("TURNWISE_PROMTOOL") or "promtool")

pytestmark = pytest.mark.skipif(
    not PROMTOOL, reason="promtool is not installed (Debian: prometheus). Set TURNWISE_PROMTOOL to its path."
)


def promtool(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [str(PROMTOOL), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


def test_each_alert_fires_when_it_should_and_no_sooner() -> None:
    folder = DEPLOY / "prometheus"
    rules = yaml.safe_load((folder / "alerts.yml").read_text())["groups"][0]["rules"]
    tests = yaml.safe_load((folder / "alerts_test.yml").read_text())["tests"]

    fired = {each["alertname"] for test in tests for each in test["alert_rule_test"] if each["exp_alerts"]}

    assert fired == {rule["alert"] for rule in rules}
    promtool("test", "rules", "alerts_test.yml", folder=folder)


def test_prometheus_reads_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "turnwise.json").read_text())
    targets = [target for panel in dashboard["panels"] for target in panel.get("targets", [])]
    rules = [{"record": f"panel:{n}", "expr": target["expr"]} for n, target in enumerate(targets)]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))

    answer = promtool("check", "rules", "panels.yml", folder=tmp_path)

    assert f"{len(targets)} rules found" in answer
