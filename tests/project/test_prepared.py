"""A restart skips the preparation only if nothing has changed that it depends on."""

import os
from pathlib import Path

import pytest

from turnwise.project.supervision import installation


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One file of ours."""
    folders = [tmp_path / "ours" / name for name in ("chatbots", "evaluation", "turnwise")]
    for folder in folders:
        (folder / "inside").mkdir(parents=True)
    file = folders[-1] / "inside" / "models.py"
    file.write_text("one = 1\n")
    monkeypatch.setattr(installation, "CODE_FOLDERS", folders)
    return file


def test_only_the_code_that_prepared_the_data_need_not_do_it_again(code: Path, tmp_path: Path) -> None:
    assert installation.last_preparation(tmp_path) is None
    installation.save_preparation(tmp_path, "/s/demo/")
    known = installation.last_preparation(tmp_path)
    assert known is not None
    assert known.worker_path == "/s/demo/"

    at = code.stat().st_mtime_ns
    code.write_text("two = 2\n")
    os.utime(code, ns=(at + 1, at + 1))
    assert installation.last_preparation(tmp_path) is None
    installation.save_preparation(tmp_path, "/s/demo/")
    (code.parent / "0002_more.py").write_text("")
    assert installation.last_preparation(tmp_path) is None


@pytest.mark.usefixtures("code")
def test_another_version_of_a_package_prepares_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "packages"
    (packages / "Django-5.2.dist-info").mkdir(parents=True)
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(packages))
    installation.save_preparation(tmp_path, "")
    assert installation.last_preparation(tmp_path)

    (packages / "Django-5.2.dist-info").rename(packages / "Django-5.3.dist-info")
    assert installation.last_preparation(tmp_path) is None


@pytest.mark.usefixtures("code")
@pytest.mark.parametrize("text", ["", "[]", '{"code": 1}', "half of it"])
def test_a_note_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / installation.PREPARED_FILE).write_text(text)

    assert installation.last_preparation(tmp_path) is None
