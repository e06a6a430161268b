"""A GGUF file becomes a folder that the bots read, with the weights that were in it."""

from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from chatbots.base import Context
from chatbots.huggingface.files import ModelFilesError
from chatbots.huggingface.gguf import convert, main
from chatbots.registry import create_bot
from tests.chatbots.tiny_gguf import tiny_llama, write_gguf


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_llama(tmp_path_factory.mktemp("llama"))


def test_the_weights_and_the_tokenizer_are_those_of_the_file(original: str, tmp_path: Path) -> None:
    write_gguf(original, tmp_path / "m.gguf", gguf.GGMLQuantizationType.F32)
    convert(tmp_path / "m.gguf", tmp_path / "folder")

    before: Any = AutoModelForCausalLM.from_pretrained(original, dtype=torch.bfloat16)
    after: Any = AutoModelForCausalLM.from_pretrained(tmp_path / "folder", dtype=torch.bfloat16)
    for name, weight in before.state_dict().items():
        assert torch.equal(after.state_dict()[name], weight), name
    texts = [AutoTokenizer.from_pretrained(each) for each in (original, tmp_path / "folder")]
    assert texts[1].encode("I like your old cat!") == texts[0].encode("I like your old cat!")


def test_a_bot_talks_with_a_model_of_few_bits(original: str, tmp_path: Path) -> None:
    write_gguf(original, tmp_path / "m.gguf", gguf.GGMLQuantizationType.Q4_1)
    assert main([str(tmp_path / "m.gguf"), str(tmp_path / "folder")]) == 0

    bot = create_bot("huggingface-chat", {"model": str(tmp_path / "folder"), "most_tokens": 8})
    (response,) = bot.respond([Context.from_texts(["I like the red cat"], seed=1)])
    assert isinstance(response.text, str)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.gguf", "nowhere.gguf is not there"),
        ("no-such-package", "is neither a .gguf file nor an installed package"),
        ("numpy", "The package numpy carries 0 GGUF files"),
    ],
)
def test_a_source_without_a_file_is_one_line(
    source: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([source, str(tmp_path / "folder")]) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("gguf: ")
    assert message in line


def test_a_damaged_file_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF" + b"\0" * 100)
    with pytest.raises(ModelFilesError, match=r"m\.gguf cannot be read"):
        convert(tmp_path / "m.gguf", tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["m.gguf"]


def test_a_folder_that_is_there_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match="already exists"):
        convert(tmp_path / "m.gguf", tmp_path)
