"""Small models with real files, made on the spot: random weights, tokenizers trained on a few lines."""

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BlenderbotConfig,
    BlenderbotForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedConfig,
    PreTrainedTokenizerFast,
    T5Config,
    T5ForConditionalGeneration,
)

from chatbots.knowledge.config import TopicalChatConfig
from chatbots.knowledge.model import TopicalChatModel
from chatbots.training.checkpoint import save_with_vocabulary
from chatbots.training.vocabulary import Vocabulary

torch.set_num_threads(1)  # threads only wait for each other in products this small

LINES = [
    f"{a} {b} {c}{d}"
    for a in ("I like", "we hate", "do you eat", "they saw")
    for b in ("the red", "a big", "your old", "no")
    for c in ("cat", "dog", "house", "music")
    for d in (".", "?", "!")
]
END = "<|endoftext|>"
TEMPLATE = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
    "{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('roles must alternate') }}{% endif %}"
    "{{ '<|start|>' + message['role'] + ' ' + message['content'] + '<|stop|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start|>assistant ' }}{% endif %}"
)


def byte_tokenizer(*special: str, size: int = 400, **options: object) -> PreTrainedTokenizerFast:
    """Byte-pair encoding over bytes, as GPT-2's."""
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(special), initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    trained.train_from_iterator(LINES, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=trained, **options)


def save(model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast, folder: Path) -> str:
    """Draw the weights wide, so that scores lie far apart, and write real safetensors and tokenizer files."""
    torch.manual_seed(0)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.4)
    rows = model.get_input_embeddings().weight.shape[0]
    ends = range(rows - rows // 8, rows)  # many, so that replies have different lengths
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, *ends]
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def save_gpt2(folder: Path, **options: int) -> str:
    """As DialoGPT: one special token, which ends turns."""
    tokenizer = byte_tokenizer(END, eos_token=END, bos_token=END)
    config = GPT2Config(
        **{"vocab_size": len(tokenizer), "n_positions": 128, "n_embd": 32, "n_layer": 2, "n_head": 2}
        | options,
        bos_token_id=tokenizer.eos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return save(GPT2LMHeadModel(config), tokenizer, folder)


def llama(tokenizer: PreTrainedTokenizerFast, *, intermediate_size: int) -> LlamaForCausalLM:
    """A model of two layers with random weights."""
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=intermediate_size,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
            pad_token_id=None,
        )
    )


def save_llama(folder: Path) -> str:
    """An instruction model with a strict chat template."""
    tokenizer = byte_tokenizer(
        "<|start|>", "<|stop|>", eos_token="<|stop|>", additional_special_tokens=["<|start|>"]
    )
    tokenizer.chat_template = TEMPLATE
    return save(llama(tokenizer, intermediate_size=48), tokenizer, folder)


def save_mistral(folder: Path) -> str:
    """Attention that looks eight tokens back and no further."""
    tokenizer = byte_tokenizer(END, eos_token=END, bos_token=END)
    config = MistralConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        sliding_window=8,
        eos_token_id=tokenizer.eos_token_id,
    )
    return save(MistralForCausalLM(config), tokenizer, folder)


def encoder_tokenizer() -> PreTrainedTokenizerFast:
    """Texts end with the end token."""
    tokenizer = byte_tokenizer("<pad>", "<s>", "</s>", pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", tokenizer.eos_token_id)]
    )
    return tokenizer


def save_like_bart(folder: Path, config: type[PreTrainedConfig], model: type[torch.nn.Module]) -> str:
    """An encoder and a decoder with absolute positions, as BART has and those after it."""
    tokenizer = encoder_tokenizer()
    made = config(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_position_embeddings=64,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
        forced_bos_token_id=None,
        forced_eos_token_id=None,
    )
    return save(model(made), tokenizer, folder)


def save_blenderbot(folder: Path) -> str:
    """Positions are looked up in a table."""
    return save_like_bart(folder, BlenderbotConfig, BlenderbotForConditionalGeneration)


def save_bart(folder: Path) -> str:
    """The table's first two rows are no positions."""
    return save_like_bart(folder, BartConfig, BartForConditionalGeneration)


def save_m2m100(folder: Path) -> str:
    """Counts positions itself and cannot be told any."""
    return save_like_bart(folder, M2M100Config, M2M100ForConditionalGeneration)


def save_t5(folder: Path) -> str:
    """Knows distances between tokens, no positions."""
    tokenizer = encoder_tokenizer()
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=16,
        d_ff=48,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=2,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=16,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
    )
    return save(T5ForConditionalGeneration(config), tokenizer, folder)


def save_topical_chat(folder: Path, *, knowledge: bool = True) -> str:
    """A Transformer of this project, which may read a sentence."""
    torch.manual_seed(0)
    vocabulary = Vocabulary(["cat", "dog", "barn", "roof", "the", "is", "in", "on", "where", "."])
    config = TopicalChatConfig(
        knowledge=knowledge,
        vocabulary_size=len(vocabulary),
        hidden_size=16,
        feed_forward=16,
        response_length=6,
    )
    weights = TopicalChatModel(config).state_dict()
    save_with_vocabulary(folder, config=config, weights=weights, vocabulary=vocabulary)
    return str(folder)
