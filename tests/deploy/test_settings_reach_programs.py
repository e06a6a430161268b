"""Every setting of docs/settings.md reaches the programs that read it, whichever way they are deployed."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
OURS = SERVICES.keys() - {"postgresql", "redis", "nginx"}
DOCUMENTED = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))
# What a deployment decides: addresses of its services, where its data are, which program hosts which bots.
OF_THE_DEPLOYMENT = {
    "DATABASE_URL", "APPLICATION_DATABASE_URL", "REDIS_URL", "SECRET_KEY",
    "TURNWISE_VAR", "XDG_DATA_HOME", "TURNWISE_BOTS",
}  # fmt: skip
# Errors with their source are for nobody outside; the others belong to `turnwise api`, a client.
NOT_FOR_SERVERS = {"DEBUG", "TURNWISE_URL", "TURNWISE_TOKEN"}
SETTINGS = sorted(DOCUMENTED - OF_THE_DEPLOYMENT - NOT_FOR_SERVERS)
# On Kubernetes they go with the limits of memory, which the manifests of these programs set.
WITH_A_LIMIT = {("bots", "TURNWISE_BOT_MEMORY_GB"), ("worker", "TURNWISE_JOB_MEMORY_GB")}
PANELS = "TURNWISE_PROLIFIC_LAB"

native = runpy.run_path(str(ROOT / "deploy" / "native"))


@pytest.mark.parametrize("name", sorted(OURS))
def test_the_containers_get_what_the_file_for_compose_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting in SETTINGS:
        monkeypatch.setenv(setting, f"as {setting} says")

    told = {
        setting: native["filled_in"](value)
        for setting, value in SERVICES[name]["environment"].items()
        if setting in SETTINGS
    }

    assert told == {setting: f"as {setting} says" for setting in SETTINGS}
    assert SERVICES[name]["env_file"] == [{"path": "panels.env", "required": False}]
    assert not NOT_FOR_SERVERS & SERVICES[name]["environment"].keys()


def test_tokens_and_files_of_an_installation_are_neither_in_the_repository_nor_in_the_image() -> None:
    for name in (".gitignore", ".dockerignore"):
        ignored = (ROOT / name).read_text().splitlines()
        assert {".env", "panels.env"} <= set(ignored)
        assert {"deploy/files", "deploy/files/*"} & set(ignored)
    for name in OURS:
        assert "./deploy/files:/etc/turnwise/files:ro" in SERVICES[name]["volumes"]


def test_plain_processes_get_what_the_shell_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in [*SETTINGS, PANELS, "DATABASE_URL", "REDIS_URL"]:
        monkeypatch.setenv(setting, f"as {setting} says")

    with ExitStack() as stack:
        environment, _ = native["shared_environment"](stack, tmp_path)

    for name in OURS - {"setup"}:
        told = environment | native["own_environment"](SERVICES[name])
        assert {each: told[each] for each in [*SETTINGS, PANELS]} == {
            each: f"as {each} says" for each in [*SETTINGS, PANELS]
        }


def test_pods_get_what_an_overlay_and_its_secret_say(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "deploy" / "kubernetes", tmp_path, dirs_exist_ok=True)
    overlay = tmp_path / "lab" / "kustomization.yaml"
    made = yaml.safe_load(overlay.read_text())
    made["configMapGenerator"][0]["literals"] = [f"{each}=as {each} says" for each in SETTINGS]
    overlay.write_text(yaml.safe_dump(made))
    program = shutil.which("kubectl", path=str(Path(sys.executable).parent)) or "kubectl"
    done = subprocess.run(
        [program, "kustomize", str(tmp_path / "lab")], capture_output=True, text=True, check=True
    )
    documents = list(yaml.safe_load_all(done.stdout))
    ((name_of_map, plain),) = (
        (each["metadata"]["name"], each["data"]) for each in documents if each["kind"] == "ConfigMap"
    )
    found = {each["metadata"]["name"]: each for each in documents if each["kind"] in ("Deployment", "Job")}

    for name in OURS:
        (container,) = found[name]["spec"]["template"]["spec"]["containers"]
        shared, secret = (next(iter(source.values())) for source in container["envFrom"])
        own = {each["name"]: each["value"] for each in container["env"] if "value" in each}
        wanted = [each for each in SETTINGS if (name, each) not in WITH_A_LIMIT]
        assert {each: (plain | own)[each] for each in wanted} == {each: f"as {each} says" for each in wanted}
        assert shared["name"] == name_of_map
        assert secret == {"name": "turnwise-settings", "optional": True}


def test_the_base_for_kubernetes_lists_every_setting_that_is_no_secret() -> None:
    lines = (ROOT / "deploy" / "kubernetes" / "base" / "settings.env").read_text().splitlines()
    listed = {line.partition("=")[0] for line in lines if not line.startswith("#")}
    program = (ROOT / "deploy" / "kubernetes" / "base" / "program.yaml").read_text()
    secret = set(re.findall(r"\{name: turnwise, key: (\w+)", program))

    assert listed | secret == {*SETTINGS, "TURNWISE_BOTS", "SECRET_KEY", "REDIS_URL"}
    assert not listed & secret


def test_the_page_and_the_example_name_the_files_that_are_read() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()

    for word in ("`panels.env`", "`deploy/files`", "`turnwise-settings`", "/etc/turnwise/files"):
        assert word in page
    for setting in re.findall(r"^([A-Z_]+)=", (ROOT / "deploy" / "env.example").read_text(), re.MULTILINE):
        assert "${" + setting in (ROOT / "docker-compose.yml").read_text(), setting


def test_a_setting_without_a_value_counts_as_none() -> None:
    """As an example file that was copied and not filled in has it."""
    empty = dict.fromkeys(SETTINGS, "")
    wanted = ("ALLOWED_HOSTS", "API_RATE", "SECOND_FACTOR", "LOG_FORMAT", "JOB_SECONDS", "LOGO", "OIDC_NAME")
    code = f"from turnwise.project import settings; print([getattr(settings, each) for each in {wanted}])"
    unset = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    told, default = (
        subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for environment in (unset | empty, unset)
    )

    assert told == default
    assert "1200/m" in told


def test_a_rate_that_cannot_be_read_ends_the_program_with_the_cure() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from turnwise.project import settings"],
        env=os.environ | {"TURNWISE_API_RATE": "many"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "TURNWISE_API_RATE='many' is not a rate. Write a number and /s" in done.stderr
