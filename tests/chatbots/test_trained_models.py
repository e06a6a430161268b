"""What the packages of trained models share: their command lines, and measuring without dropout."""

import pytest
from torch import nn

from chatbots.errors import ChatbotError
from chatbots.training.checkpoint import CheckpointError
from chatbots.training.command import Command, run_command
from chatbots.training.perplexity import evaluating, perplexity_of


def failing(error):
    """The commands of a package with one command, which fails with this error."""

    def run(options):
        raise error

    return [Command("fail", "fails", lambda parser: None, run)]


@pytest.mark.parametrize("error", [ValueError("no"), OSError("no"), CheckpointError("no")])
def test_an_error_of_input_is_one_line_and_status_2(error, capsys):
    assert run_command("meena", None, failing(error), ["fail"]) == 2
    assert capsys.readouterr().err == "meena: no\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BrokenPipeError()])
def test_an_interrupted_command_ends_with_status_130(error, capsys):
    assert run_command("meena", None, failing(error), ["fail"]) == 130
    assert not capsys.readouterr().err


def test_a_fault_of_the_program_keeps_its_traceback():
    with pytest.raises(ChatbotError):
        run_command("meena", None, failing(ChatbotError("no")), ["fail"])


def fail_to_measure(model):
    with evaluating(model):
        raise ValueError(model.training)


def test_a_model_is_in_training_again_after_a_measurement_that_failed():
    model = nn.Dropout(0.5).train()

    with pytest.raises(ValueError, match="False"):
        fail_to_measure(model)

    assert model.training


def test_a_perplexity_without_words_or_likelihoods_is_refused():
    assert perplexity_of(0.0, 3, unit="word", if_none="none") == 1
    with pytest.raises(ValueError, match="nothing here"):
        perplexity_of(0.0, 0, unit="word", if_none="nothing here")
    with pytest.raises(ValueError, match="nan nats per token"):
        perplexity_of(float("nan"), 3, unit="token", if_none="none")
