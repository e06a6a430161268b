"""Entry point of the command `turnwise`, which `pip install` puts on the path.

Nothing is imported before a subcommand needs it: `turnwise serve` must start at once, without Django.
"""

import difflib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import NoReturn

SETTINGS = "turnwise.project.settings"
USAGE_ERROR = 2

Run = Callable[[str, list[str]], None]
"""Runs a subcommand, given its name and its arguments."""


@dataclass(frozen=True, slots=True)
class Subcommand:
    """One subcommand, with the line about it in the help."""

    help: str
    run: Run


def main() -> None:
    """Run the subcommand that the shell's arguments name; print the help if they name none."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", SETTINGS)
    arguments = sys.argv[1:]
    if arguments[:1] not in WITHOUT_DATA_FOLDER:
        try:
            arguments = _with_data_folder_in_environment(arguments)
        except ValueError as error:
            _end(str(error))
    name, rest = (arguments[0], arguments[1:]) if arguments else ("help", [])
    if name in ("--version", "version"):
        print(f"turnwise {installed_version()}")
    elif name in ("--help", "-h", "help"):
        print(_help())
    elif subcommand := SUBCOMMANDS.get(name):
        subcommand.run(name, rest)
    else:
        _end(_unknown(name))


def installed_version() -> str:
    """Version of the installed package; "(not installed)" for sources that were only unpacked."""
    try:
        return version("turnwise")
    except PackageNotFoundError:
        return "(not installed)"


def _with_data_folder_in_environment(arguments: Sequence[str]) -> list[str]:
    """Take `--data FOLDER` out of the arguments and set TURNWISE_VAR, which every program reads.

    Raises:
        ValueError: no folder follows `--data`.
    """
    left: list[str] = []
    waiting = iter(arguments)
    for each in waiting:
        if each == "--":
            return [*left, each, *waiting]
        option, has_value, value = each.partition("=")
        if option != "--data":
            left.append(each)
            continue
        folder = value if has_value else next(waiting, "")
        if not folder.strip():
            raise ValueError("--data is empty. Name a folder for all data, or leave --data out.")
        os.environ["TURNWISE_VAR"] = os.path.abspath(folder)
    return left


# --- how the subcommands run -------------------------------------------------------------------


def _serve(_name: str, arguments: list[str]) -> None:
    from turnwise.project.supervision.serving import become

    become(arguments)


def _manage(_name: str, arguments: list[str]) -> None:
    if arguments[:1] == ["serve"]:
        _serve("serve", arguments[1:])
    _collect_less_often()
    from django.core.management import execute_from_command_line

    execute_from_command_line(["turnwise manage", *arguments])


def _collect_less_often() -> None:
    from turnwise.live.subprocesses import collect_less_often

    collect_less_often()


def _django_command(command: str, name: str, arguments: list[str]) -> None:
    """Run one of our management commands under the name by which a person called it."""
    import django
    from django.core.management import load_command_class

    _require_installation()
    _collect_less_often()
    django.setup()
    load_command_class("turnwise.project", command).run_from_argv(["turnwise", name, *arguments])


def _restore(name: str, arguments: list[str]) -> None:
    """Restore a backup, also into a folder in which there is no installation yet."""
    from turnwise.live.locations import data_folder
    from turnwise.project.supervision import installation
    from turnwise.project.supervision.processes import StartError

    folder = data_folder()
    has_key = os.environ.get("SECRET_KEY") or (folder / "secret_key").exists()
    files = [each for each in arguments if not each.startswith("-")]
    if files and not has_key and not os.environ.get("DATABASE_URL"):
        if not os.path.isfile(files[0]):
            _end(f"There is no file {files[0]}.")
        try:
            installation.make_folder(folder)
        except StartError as error:
            _end(str(error))
        installation.ensure_secret_key(folder)
        print(
            f"{folder} is new and has a secret key of its own. Put the file secret_key of the old "
            "installation there before you start it: without it, keys of services, secrets of webhooks "
            "and panels, and second factors cannot be read, and workers need their resume codes.",
            flush=True,
        )
    _django_command("restore", name, arguments)


def _module(module: str, _name: str, arguments: list[str]) -> None:
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])


def _jobs(program: str, _name: str, arguments: list[str]) -> None:
    """Become the job worker or the timer, as `turnwise serve` starts them."""
    from turnwise.project.supervision import supervisor

    _require_installation()
    options = [*supervisor.QUIET, *supervisor.WORKER.split()]
    if program == "timer":
        from turnwise.live.locations import data_folder

        (data_folder() / "timer").mkdir(parents=True, exist_ok=True)
        options = [*supervisor.TIMER.split(), "--schedule", str(data_folder() / "timer" / "schedule")]
    os.environ.setdefault("TURNWISE_BOTS", "none")  # jobs ask the bots that other processes keep loaded
    os.execv(sys.executable, [sys.executable, *options, *arguments])


def _doctor(_name: str, arguments: list[str]) -> None:
    from turnwise.project.doctor.program import main as examine

    sys.exit(examine(arguments))


def _papers(_name: str, arguments: list[str]) -> None:
    from turnwise.project.papers.program import main as show

    sys.exit(show(arguments))


def _api(_name: str, arguments: list[str]) -> None:
    from turnwise.client.command import main as call

    sys.exit(call(arguments))


def _require_installation() -> None:
    """End with what to do where neither the environment nor the data folder holds the secret key."""
    settings = import_module(SETTINGS)
    if not settings.SECRET_KEY:
        _end(
            f"There is no installation in {settings.VAR}. Start one with `turnwise serve`, name the "
            "folder of another with --data, or set DATABASE_URL, REDIS_URL and SECRET_KEY."
        )


_OURS = {
    "hostbots": ("hostbots", "keep bots loaded, on this or another machine"),
    "backup": ("backup", "write the database to a file"),
    "bundle": ("bundle", "write a study's data and results to a zip archive"),
    "import": ("import_dialogues", "import a file of conversations into a study"),
    "rehearse": ("rehearse", "try a study with simulated workers"),
}
"""Our management commands under the names of subcommands, each with its line of help."""

SUBCOMMANDS = {
    "serve": Subcommand("run everything on this machine, with embedded PostgreSQL and Redis", _serve),
    "worker": Subcommand("run a job worker beside servers of your own", partial(_jobs, "worker")),
    "timer": Subcommand("run the timer that starts what is due", partial(_jobs, "timer")),
    "doctor": Subcommand("say what is wrong with this installation, and the cure", _doctor),
    **{
        name: Subcommand(line, partial(_django_command, command)) for name, (command, line) in _OURS.items()
    },
    "restore": Subcommand("replace the database by a backup, or begin with it in a new folder", _restore),
    "api": Subcommand("call the REST API of an installation, here or elsewhere", _api),
    "papers": Subcommand("say which published tables can be reproduced, and how", _papers),
    "manage": Subcommand("any command of Django, such as shell or createsuperuser", _manage),
    "chatbots": Subcommand("chat with bots and train models", partial(_module, "chatbots")),
    "evaluation": Subcommand("statistics of files, without the platform", partial(_module, "evaluation")),
}  # fmt: skip

# Their own options may be called --data.
WITHOUT_DATA_FOLDER = (["chatbots"], ["evaluation"])


def _help() -> str:
    from turnwise.live.locations import data_folder

    width = max(map(len, SUBCOMMANDS))
    lines = [f"  {name:<{width}}  {each.help}" for name, each in SUBCOMMANDS.items()]
    return "\n".join(
        [
            "Usage: turnwise COMMAND [--data FOLDER] …",
            "",
            "Human evaluation of open-domain chatbots.",
            "",
            *lines,
            "",
            f"  --data FOLDER  the installation's data (now: {data_folder()})",
            "  --version      the installed version",
            "",
            "`turnwise COMMAND --help` describes a command. Settings are environment variables; the manual",
            "describes them under Help > Running Turnwise > Settings.",
        ]
    )


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, SUBCOMMANDS, 1)
    guess = f" Did you mean {close[0]}?" if close else ""
    return f"turnwise has no command {name!r}.{guess} Its commands are: {', '.join(SUBCOMMANDS)}."


def _end(reason: str) -> NoReturn:
    print(reason, file=sys.stderr)
    sys.exit(USAGE_ERROR)
