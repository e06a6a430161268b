"""The recipe of the containers, as far as it can be checked without a container engine."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
FOREIGN = {"postgresql", "redis", "nginx"}
DOCKERFILE = (ROOT / "Dockerfile").read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_read_only_with_bounded_logs_and_those_that_stay_are_checked(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "5"}}
    if name == "setup":
        assert (service["restart"], "healthcheck" in service) == ("no", False)
    else:
        assert service["restart"] == "unless-stopped"
        assert service["healthcheck"]["test"]
    if name not in FOREIGN:
        assert (service["cap_drop"], service["tmpfs"]) == (["ALL"], ["/tmp"])


def test_migrations_run_before_every_program_that_needs_them() -> None:
    assert SERVICES["setup"]["command"] == "python manage.py bootstrap"
    assert {each["condition"] for each in SERVICES["setup"]["depends_on"].values()} == {"service_healthy"}
    for name in SERVICES.keys() - FOREIGN - {"setup"}:
        assert SERVICES[name]["depends_on"]["setup"] == {"condition": "service_completed_successfully"}


def test_volumes_are_declared_and_files_that_are_mounted_or_copied_exist() -> None:
    declared = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["volumes"]
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            assert (ROOT / source).exists() if source.startswith(".") else source in declared
    for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()[:-1])


def test_the_image_has_stages_two_variants_and_a_user_without_rights() -> None:
    stages = re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]
    users = re.findall(r"^USER (\S+)$", stages[-1], re.MULTILINE)

    assert [stage.split()[0] for stage in stages] == ["python:3.11-slim", "base", "base"]
    assert users == ["10001"]
    assert "--uid 10001" in stages[-1]
    assert "COPY . ." not in stages[1]  # a change of code does not install PyTorch again
    gpu = yaml.safe_load((ROOT / "docker-compose.gpu.yml").read_text())["services"]
    assert gpu.keys() <= SERVICES.keys()
    for variant in ("cpu", gpu["bots"]["build"]["args"]["TORCH"]):
        assert f"{variant}) index=" in stages[1]
