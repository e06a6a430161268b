"""Weights as published in files of PyTorch."""

from pathlib import Path
from typing import Any

from evaluation.conversation.encoders import EncoderError


def read_tensors(path: Path) -> dict[str, Any]:
    """The tensors of a file by name; nothing in it is run.

    Raises:
        EncoderError: PyTorch is not installed, or the file has other things than tensors.
    """
    try:
        import torch
    except ImportError:
        raise EncoderError(f"{path}: it needs PyTorch. Install it: pip install 'turnwise[models]'.") from None
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise EncoderError(f"{path}: {error.strerror}.") from None
    except Exception as error:  # whatever a broken file makes of pickle and zip
        raise EncoderError(
            f"{path}: no weights of PyTorch ({str(error).splitlines()[0][:200]}). Get the file again; if it "
            "holds a whole model, store its state_dict."
        ) from None
    if not isinstance(tensors, dict):
        raise EncoderError(f"{path}: it holds no tensors by name. Store the model's state_dict.")
    return {str(name): tensor.float() for name, tensor in tensors.items()}
