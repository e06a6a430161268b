"""From a folder to a model and a tokenizer that fit each other, or an error that says why not."""

from pathlib import Path
from typing import Any, Literal

from chatbots.huggingface.files import ModelFilesError, may_run_their_code

Kind = Literal["causal", "seq2seq"]
Precision = Literal["float32", "bfloat16", "float16"]


def load(folder: Path, kind: Kind, *, device: str, precision: Precision) -> tuple[Any, Any]:
    """Read a model for use: in evaluation mode, on its device, with its tokenizer.

    Args:
        folder: as `chatbots.huggingface.files.folder_of` returns it.
        kind: what the model is.
        device: as PyTorch names it.
        precision: type of the weights in memory.

    Raises:
        DeviceError: the device is not there.
        ModelFilesError: the model is of another kind or needs code of its own, or weights, configuration and
            tokenizer do not fit.
        ModuleNotFoundError: PyTorch or transformers is not installed.
    """
    import torch
    import transformers

    from chatbots.training.devices import device_of_bot

    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    device_of_bot(device)
    auto: Any = transformers.AutoModelForCausalLM if kind == "causal" else transformers.AutoModelForSeq2SeqLM
    code = {"local_files_only": True, "trust_remote_code": may_run_their_code()}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **code)
        model, report = auto.from_pretrained(
            folder, dtype=getattr(torch, precision), use_safetensors=True, output_loading_info=True, **code
        )
    except Exception as error:  # transformers raises anything from OSError to AttributeError here
        raise ModelFilesError(_why(folder, kind, error)) from error
    _check_fit(folder, model, tokenizer, report)
    tokenizer.truncation_side = "left"  # what was said last matters most
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
    """Refuse weights that are random because the file lacks them, and a tokenizer with more tokens."""
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
