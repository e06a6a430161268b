"""The subcommand `turnwise doctor`: runs all checks and prints their findings, or JSON for a program."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module

from turnwise.live.locations import data_folder
from turnwise.project.doctor import system_checks
from turnwise.project.doctor.findings import Check, Finding, State, problem, refusal, run_checks


def main(arguments: Sequence[str]) -> int:
    """Print all findings; 1 if something is wrong, else 0."""
    options = _parsed(arguments)
    findings: list[Finding] = []
    for finding in _findings(options.host, options.port):
        findings.append(finding)
        if not options.json:
            print(_line(finding), flush=True)
    problems = [each for each in findings if each.state == State.PROBLEM]
    if options.json:
        body = {"ok": not problems, "findings": [asdict(each) for each in findings]}
        print(json.dumps(body, indent=2))
    else:
        print(_verdict(findings, len(problems)))
    return 1 if problems else 0


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="turnwise doctor", description="Check this installation, and say what is wrong with the cure."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address that serve would listen on")
    parser.add_argument("--port", type=int, default=8000, help="port that serve would listen on")
    parser.add_argument("--json", action="store_true", help="print JSON for a program")
    return parser.parse_args(arguments)


def _findings(host: str, port: int) -> Iterator[Finding]:
    folder = data_folder()
    machine: list[tuple[str, Check]] = [
        ("versions", system_checks.check_versions),
        ("locale", system_checks.check_locale),
        ("clock", system_checks.check_clock),
        ("memory", system_checks.check_memory),
        ("data folder", partial(system_checks.check_data_folder, folder)),
        ("disk", partial(system_checks.check_disk, folder)),
        ("port", partial(system_checks.check_port, folder, host, port)),
        ("embedded services", system_checks.check_embedded),
    ]
    yield from run_checks(machine)
    try:
        settings = import_module("turnwise.project.settings")
    except SystemExit as error:
        yield refusal("settings", error)
        return
    if settings.SAML:
        yield from run_checks([("SAML", partial(system_checks.check_saml, settings.SAML))])
    # The addresses of embedded services hold only while their server runs.
    is_running = bool(system_checks.running_link(folder))
    yield from _service_findings(
        os.environ.get("DATABASE_URL") or (settings.DATABASE_URL if is_running else ""),
        os.environ.get("REDIS_URL") or (settings.REDIS_URL if is_running else ""),
        has_key=bool(settings.SECRET_KEY),
    )


def _service_findings(database: str, redis: str, *, has_key: bool) -> Iterator[Finding]:
    services: list[tuple[str, Check]] = [
        ("PostgreSQL", partial(system_checks.check_postgresql, database)),
        ("Redis", partial(system_checks.check_redis, redis)),
    ]
    found = list(run_checks(services))
    yield from found
    if not has_key and database:
        cure = "Set SECRET_KEY, the same for every program, or name the data folder that has one with --data."
        yield problem("secret key", "There is no secret key, which signs sessions.", cure)
    elif all(each.state == State.OK for each in found):
        yield from _database_findings()


def _database_findings() -> Iterator[Finding]:
    import django

    django.setup()
    from turnwise.project.doctor import database_checks

    checks: list[tuple[str, Check]] = [
        ("migrations", database_checks.check_migrations),
        ("memory for bots", database_checks.check_bot_memory),
    ]
    if system_checks.running_link(data_folder()):
        checks.append(("bots", database_checks.check_bots))
    yield from run_checks(checks)


def _line(finding: Finding) -> str:
    mark = {State.OK: "ok", State.PROBLEM: "PROBLEM", State.UNCHECKED: "not checked"}[finding.state]
    text = " ".join(filter(None, (finding.sentence, finding.cure)))
    return f"{mark:<12}{finding.check}: {text}"


def _verdict(findings: Iterable[Finding], problems: int) -> str:
    if problems:
        return f"\n{problems} {'problem' if problems == 1 else 'problems'} found."
    left = [each.check for each in findings if each.state == State.UNCHECKED]
    return f"\nNo problem found{', but not checked: ' + ', '.join(left) if left else ''}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
