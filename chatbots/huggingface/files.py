"""The files of a model: fetching, checks, hashes, and loading with a tokenizer that fits.

Weights are read from safetensors only. A pickle can run any program while it is read, so pickles are never
read.
"""

import json
import os
import re
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from chatbots.errors import ChatbotError
from chatbots.local_files import allowed_path, hash_of

PATTERNS = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
"""Files of a repository to fetch: no pickles, no code."""
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.ot")
TOKENIZER_FILES = (
    "tokenizer.json",
    "vocab.json",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
CONVERT = "Convert them once where you trust them (docs/bots.md, 'Weights that are pickles')."
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[\w.-]{1,96})?")


class ModelFilesError(ChatbotError, ValueError):
    """The files of a model are missing, damaged or do not belong together; says which and what to do."""


def may_run_their_code() -> bool:
    """True if an admin allows the code of models: TURNWISE_TRUST_REMOTE_CODE is `yes`."""
    return os.environ.get("TURNWISE_TRUST_REMOTE_CODE", "no") == "yes"


def is_local(model: str) -> bool:
    """True if a model is a folder of this machine, not a name of the hub."""
    if model.startswith(("/", ".", "~")):
        return True
    try:
        return allowed_path(model).is_dir()
    except ValueError:
        return False


def local_folder(model: str) -> Path:
    """Resolve the folder that a local model names.

    Raises:
        ModelFilesError: models are not allowed there.
    """
    try:
        return allowed_path(model)
    except ValueError as error:
        raise ModelFilesError(str(error)) from None


def check_name(model: str) -> None:
    """Refuse a name that is neither a usable folder nor a name of the hub; fetches nothing.

    Raises:
        ModelFilesError: the name is neither.
    """
    if is_local(model):
        check_folder(local_folder(model))
    elif not _HUB_NAME.fullmatch(model) or ".." in model:
        raise ModelFilesError("is neither a folder nor a name of the hub. Write owner/model or a path")


def folder_of(model: str, *, revision: str, offline: bool) -> Path:
    """Return the folder with the model's files, fetched from the hub if necessary.

    Args:
        model: a path, or a name of the hub.
        revision: branch, tag or commit of the hub.
        offline: True to use only files already on this machine.

    Raises:
        ModelFilesError: the model cannot be fetched, or its files are incomplete or do not belong together.
    """
    folder = local_folder(model) if is_local(model) else _fetched(model, revision, offline)
    check_folder(folder)
    return folder


def _fetched(model: str, revision: str, offline: bool) -> Path:
    from huggingface_hub import snapshot_download

    patterns = [*PATTERNS, *(["*.py"] if may_run_their_code() else [])]
    try:
        path = snapshot_download(model, revision=revision, allow_patterns=patterns, local_files_only=offline)
    except Exception as error:  # the hub's client passes on any error of its HTTP library
        first_line = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
        cure = (
            "Fetch it once without local_files_only"
            if offline
            else "See that the name, revision and network are right"
        )
        raise ModelFilesError(
            f"{model} at revision {revision} cannot be fetched: {first_line}. {cure}, or give a folder."
        ) from None
    return Path(path)


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files cannot make a model, as far as can be checked without loading.

    Raises:
        ModelFilesError: says which file is missing or damaged, or does not fit the others.
    """
    if not folder.is_dir():
        raise ModelFilesError(
            f"{folder} is not a folder. Give the one with config.json and model.safetensors"
        )
    config = _json_of(folder / "config.json")
    for path in weight_files(folder):
        _check_whole(path)
    if not tokenizer_files(folder):
        raise ModelFilesError(
            f"{folder} has no tokenizer (tokenizer.json, vocab.json, spiece.model …). Save it there as well"
        )
    _check_tokenizer_fits(folder, config)


def weight_files(folder: Path) -> list[Path]:
    """List the safetensors files with the weights, sorted.

    Raises:
        ModelFilesError: there are none, or a part is missing.
    """
    index = folder / "model.safetensors.index.json"
    if index.exists():
        names = set(_json_of(index).get("weight_map", {}).values())
        paths = sorted(folder / Path(str(name)).name for name in names)
    else:
        paths = [folder / "model.safetensors"]
    missing = [path.name for path in paths if not path.is_file()]
    if not missing and paths:
        return paths
    pickles = sorted(path.name for pattern in PICKLES for path in folder.glob(pattern))
    if pickles:
        raise ModelFilesError(f"{folder} has its weights as pickles only ({pickles[0]}). {CONVERT}")
    raise ModelFilesError(f"{folder} has no {', '.join(missing)}. Pickles are not read. {CONVERT}")


def tokenizer_files(folder: Path) -> list[Path]:
    """List every file of the tokenizer, sorted; empty if there is none."""
    more = ("merges.txt", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
    templates = ("chat_template.jinja", "chat_template.json")
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        return []
    names = (*TOKENIZER_FILES, *more, *templates)
    return sorted(folder / name for name in names if (folder / name).is_file())


def content_hash(folder: Path) -> str:
    """Hash (SHA-256) configuration, weights and tokenizer: the files that decide the model's replies."""
    settings = [folder / name for name in ("config.json", "generation_config.json")]
    paths = [*(path for path in settings if path.exists()), *weight_files(folder), *tokenizer_files(folder)]
    return _hash_as_they_are(tuple((path, _mark(path)) for path in paths))


@lru_cache(64)
def _hash_as_they_are(marked: tuple[tuple[Path, tuple[int, ...]], ...]) -> str:
    """Hash once per state of the files: they have gigabytes, and every look at a bot checks settings."""
    return hash_of([path for path, _ in marked])


def _mark(path: Path) -> tuple[int, ...]:
    """A mark that changes whenever the file changes."""
    stat = path.stat()
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def check_hash(folder: Path, expected: str | None) -> None:
    """Refuse files with a hash other than expected.

    Raises:
        ModelFilesError: their `content_hash` differs.
    """
    if expected and (actual := content_hash(folder)) != expected.lower():
        raise ModelFilesError(
            f"{folder} has the hash {actual}, not {expected}. Give the files that were meant, or fix sha256"
        )


def bytes_of_weights(folder: Path) -> int:
    """Size of the weights on disk."""
    return sum(path.stat().st_size for path in weight_files(folder))


def _json_of(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ModelFilesError(f"{path.parent} has no {path.name}. Give the folder that has it") from None
    except (OSError, ValueError) as error:
        raise ModelFilesError(f"{path} cannot be read: {error}. Fetch it again") from None
    if not isinstance(content, dict):
        raise ModelFilesError(f"{path} is not an object of JSON. Fetch it again")
    return content


def _check_whole(path: Path) -> None:
    """Compare a safetensors file's length with its header."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > size:
                raise ValueError("its header is longer than the file")
            header = json.loads(file.read(length))
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    except (ValueError, struct.error, KeyError, TypeError, AttributeError) as error:
        raise ModelFilesError(f"{path} is not a safetensors file: {error}. Fetch it again") from None
    if 8 + length + max(ends, default=0) != size:
        raise ModelFilesError(f"{path} has {size:,} bytes, other than its header says. Fetch it again")


def _check_tokenizer_fits(folder: Path, config: Mapping[str, Any]) -> None:
    inner = config.get("text_config")
    rows = config.get("vocab_size", inner.get("vocab_size") if isinstance(inner, dict) else None)
    largest = max(_token_ids(folder), default=-1)
    if isinstance(rows, int) and largest >= rows:
        raise ModelFilesError(
            f"{folder}: the tokenizer has a token {largest}, but the weights only {rows} rows of embeddings. "
            "Save the tokenizer that the model was trained with beside it"
        )


def _token_ids(folder: Path) -> Iterator[int]:
    """Yield the ids that the tokenizer's JSON files name; none for other formats."""
    if (folder / "tokenizer.json").exists():
        tokenizer = _json_of(folder / "tokenizer.json")
        vocabulary = tokenizer.get("model", {}).get("vocab", {})
        ids = vocabulary.values() if isinstance(vocabulary, dict) else range(len(vocabulary))
        yield from ids
        yield from (token["id"] for token in tokenizer.get("added_tokens", ()))
    elif (folder / "vocab.json").exists():
        yield from _json_of(folder / "vocab.json").values()


Kind = Literal["causal", "seq2seq"]
Precision = Literal["float32", "bfloat16", "float16"]


def load(folder: Path, kind: Kind, *, device: str, precision: Precision) -> tuple[Any, Any]:
    """Read a model for use: in evaluation mode, on its device, with its tokenizer.

    Args:
        folder: as `chatbots.huggingface.files.folder_of` returns it.
        kind: kind of model.
        device: as PyTorch names it.
        precision: type of the weights in memory.

    Raises:
        DeviceError: this machine does not have the device.
        ModelFilesError: the model is of another kind or needs code of its own, or weights, configuration and
            tokenizer do not fit.
        ModuleNotFoundError: PyTorch or transformers is not installed.
    """
    import torch
    import transformers

    from chatbots.training.running import device_of_bot

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    device_of_bot(device)
    auto: Any = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
    code = {"local_files_only": True, "trust_remote_code": may_run_their_code()}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **code)
        model, report = auto.from_pretrained(
            folder, dtype=getattr(torch, precision), use_safetensors=True, output_loading_info=True, **code
        )
    except Exception as error:  # transformers may raise any error here, from OSError to AttributeError
        raise ModelFilesError(_why(folder, kind, error)) from error
    _check_fit(folder, model, tokenizer, report)
    tokenizer.truncation_side = "left"  # the newest turns matter most
    return model.to(device).eval().requires_grad_(False), tokenizer


def _why(folder: Path, kind: Kind, error: Exception) -> str:
    text = " ".join(str(error).split())
    if "trust_remote_code" in text:
        return (
            f"{folder} can be run only with code that comes with it. If an admin has read and trusts it, "
            "TURNWISE_TRUST_REMOTE_CODE=yes allows it for every bot."
        )
    return f"{folder} cannot be loaded as a {kind} model: {type(error).__name__}: {text[:300]}"


def _check_fit(folder: Path, model: Any, tokenizer: Any, report: Any) -> None:
    """Refuse weights missing from the file, which would be random, and a tokenizer with more tokens."""
    if missing := sorted(map(str, report["missing_keys"])):
        raise ModelFilesError(
            f"{folder}: the weights lack {len(missing)} tensors of config.json, such as {missing[0]}. "
            "Give the config.json that was saved with them."
        )
    largest = max(tokenizer.get_vocab().values())
    rows = model.get_input_embeddings().weight.shape[0]
    if largest >= rows:
        raise ModelFilesError(
            f"{folder}: the tokenizer has a token {largest}, but the weights only {rows} rows of embeddings. "
            "Save the tokenizer that the model was trained with beside it."
        )
