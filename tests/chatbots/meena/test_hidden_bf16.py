"""On a processor without bf16, everything that chooses a precision chooses float32, and works.

oneDNN takes the instructions from the environment, so another Python runs those tests again.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.timeout(400)  # it takes 15 s, but nothing here depends on that
TESTS = (
    "test_precision.py",
    "test_bot.py",
    "test_pretrained.py::test_it_answers_in_words_and_comes_to_an_end",
)


def test_precision_and_bots_where_bf16_is_hidden() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "no:django"),
            *("-o", "addopts=--import-mode=importlib"),  # without services
            *(str(HERE / test) for test in TESTS),
        ],
        cwd=HERE.parents[2],
        env=os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=390,
    )

    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
