"""A GGUF file becomes a folder that the bots read, with the weights that were in it."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from chatbots.base import Context
from chatbots.huggingface.files import ModelFilesError
from chatbots.huggingface.gguf import convert, main
from chatbots.registry import create_bot
from tests.chatbots.tiny_models import END, TEMPLATE, byte_tokenizer, save

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def interleaved(weight: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """Rows of queries and keys in the order of llama.cpp, whose rotations pair neighbours."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(folder: str, path: Path, kind: gguf.GGMLQuantizationType) -> None:
    """What llama.cpp's own converter writes for a Llama."""
    model: Any = AutoModelForCausalLM.from_pretrained(folder)
    config, tokenizer = model.config, AutoTokenizer.from_pretrained(folder)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    vocabulary = tokenizer.get_vocab()
    writer.add_token_list(sorted(vocabulary, key=vocabulary.__getitem__))
    writer.add_token_types(
        [
            3 if token in tokenizer.all_special_tokens else 1
            for token in sorted(vocabulary, key=vocabulary.__getitem__)
        ]
    )
    merges = json.loads((Path(folder) / "tokenizer.json").read_text())["model"]["merges"]
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_chat_template(tokenizer.chat_template)
    for name, weight in model.state_dict().items():
        layer = name.removesuffix(".weight").removeprefix("model.layers.")
        number, _, part = layer.partition(".")
        written = f"blk.{number}.{NAMES[part]}.weight" if number.isdigit() else f"{NAMES[layer]}.weight"
        values = weight.float().numpy()
        for which, heads in (("q_proj", config.num_attention_heads), ("k_proj", config.num_key_value_heads)):
            if which in name:
                values = interleaved(values, heads)
        if values.ndim == 2:
            writer.add_tensor(written, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(written, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> str:
    # the end of text is among the tokens, as in every such file: it is added where it is not
    tokenizer = byte_tokenizer(END, "<|start|>", "<|stop|>", eos_token="<|stop|>")
    tokenizer.chat_template = TEMPLATE
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        pad_token_id=None,
    )
    return save(LlamaForCausalLM(config), tokenizer, tmp_path_factory.mktemp("llama"))


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
