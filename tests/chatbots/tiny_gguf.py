"""A tiny Llama of random weights, and the file that llama.cpp's converter writes of it."""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.chatbots.tiny_models import END, TEMPLATE, byte_tokenizer, llama, save

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


def tiny_llama(folder: Path) -> str:
    """Save a model with its tokenizer into a folder, and return its path."""
    # the end of text is among the tokens, as in every such file: it is added where it is not
    tokenizer = byte_tokenizer(END, "<|start|>", "<|stop|>", eos_token="<|stop|>")
    tokenizer.chat_template = TEMPLATE
    return save(llama(tokenizer, intermediate_size=64), tokenizer, folder)
