"""Models are looked for only where an admin allows them, and refusals tell nothing of the rest."""

from pathlib import Path

import pytest

from chatbots.errors import ConfigurationError
from chatbots.registry import REGISTRY


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "models"
    folder.mkdir()
    monkeypatch.setenv("TURNWISE_MODEL_FOLDERS", str(folder))
    return folder


def refusal(adapter: str, **settings: str) -> str:
    with pytest.raises(ConfigurationError) as refused:
        REGISTRY.configuration(adapter, settings)
    return refused.value.problems[0].cure


@pytest.mark.parametrize(
    ("adapter", "setting"),
    [("huggingface-causal", "model"), ("meena-base", "checkpoint"), ("dialogpt", "model")],
)
@pytest.mark.parametrize(
    "path",
    ["/etc", "/etc/no-such-folder", "~root", "~nobody-here", "~", "{allowed}/../other", "{allowed}/link"],
)
def test_every_path_elsewhere_gets_the_same_words(
    allowed: Path, adapter: str, setting: str, path: str
) -> None:
    (allowed / "link").symlink_to("/etc")

    said = refusal(adapter, **{setting: path.format(allowed=allowed)})

    assert (
        "is in no folder where models may be. An admin names such folders in TURNWISE_MODEL_FOLDERS" in said
    )


def test_a_folder_below_an_allowed_one_is_looked_into(allowed: Path) -> None:
    (allowed / "tiny").mkdir()

    assert "config.json" in refusal("huggingface-causal", model=str(allowed / "tiny"))


def test_a_relative_name_is_one_of_the_hub_and_not_a_folder_of_the_server(
    allowed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (allowed.parent / "secret").mkdir()
    monkeypatch.chdir(allowed.parent)

    REGISTRY.configuration("huggingface-causal", {"model": "secret"})  # as for any other name


def test_without_the_setting_only_what_ships_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TURNWISE_MODEL_FOLDERS")

    REGISTRY.configuration("meena-base", {})
    assert "is in no folder" in refusal("meena-base", checkpoint="/")
