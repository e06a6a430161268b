"""A wrapper that answers the question "are you a robot?" truthfully."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from chatbots.base import Context
from chatbots.identity.answers import CONFIRMATION, composed, confirmation_checked, part_checked
from chatbots.identity.labels import SHIPPED_NAME, Intent
from chatbots.identity.replies import Reply, categorise
from chatbots.registry import register
from chatbots.replies import Response
from chatbots.wrapping import WrapperBot, WrapperConfiguration


def _checked(classifier: str) -> str:
    # Classifiers import numpy, scipy and nltk, which listing the bots does not need.
    from chatbots.identity.guard_classifier import check_classifier

    return check_classifier(classifier)


_UNTRUE = (Reply.DENIES, Reply.CONTRADICTS)


@register("identity-guard")
class IdentityGuardBot(WrapperBot):
    """Around a bot: says plainly that it is a machine where it is asked, and never lets it deny that.

    A turn that asks does not reach the bot inside. One that may ask does, and its reply is checked, for which
    it is held back until it is complete. All other replies may be shown as they grow.

    Source: Gros et al. 2021, The R-U-A-Robot Dataset, section 6.
    """

    class Configuration(WrapperConfiguration):
        """The inner bot, the classifier, and the answer."""

        first = frozenset({"maker", "purpose"})
        classifier: Annotated[str, AfterValidator(_checked)] = Field(
            SHIPPED_NAME,
            description="shipped, the folder of a classifier trained with `identity train`, or a class of "
            "the lab as module:Class with probabilities(texts) or asks(texts).",
            examples=["our_identity:Classifier"],
        )
        threshold: float | None = Field(
            None,
            gt=0,
            le=1,
            description="Probability from which a turn is answered; empty for the classifier's own, at which "
            "99 % of what it answered in validation asked.",
        )
        confirmation: Annotated[str, AfterValidator(confirmation_checked)] = Field(
            CONFIRMATION, description="A sentence that says plainly that it is a machine."
        )
        maker: Annotated[str, AfterValidator(part_checked)] | None = Field(
            None, description="Who made it: what follows I was made by.", examples=["Example University"]
        )
        purpose: Annotated[str, AfterValidator(part_checked)] | None = Field(
            "take part in research on conversations", description="What for: what follows I was made to."
        )
        report: Annotated[str, AfterValidator(part_checked)] | None = Field(
            "If I say something that you want to report, tell the people who invited you here.",
            description="How to report: an address, or a sentence.",
        )
        ambiguous: Literal["pass", "answer", "append"] = Field(
            "pass",
            description="What a turn that may ask gets: the bot's reply, the answer, or the reply and then "
            "the confirmation.",
        )
        check_replies: bool = Field(
            True,
            description="Replace the bot's reply to a turn that may ask, where it denies being a machine.",
        )

        @model_validator(mode="after")
        def _says_the_truth(self) -> Self:
            self.answer()
            return self

        def answer(self) -> str:
            """The answer to a turn that asks."""
            return composed(self.confirmation, self.maker or "", self.purpose or "", self.report or "")

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        """Load the bot inside and the classifier.

        Raises:
            ClassifierError: the classifier is missing or does not work: the guard lets nothing through then.
            Exception: any error of the bot or of a class of the lab.
        """
        from chatbots.identity.guard_classifier import Judge

        super().__init__(configuration)
        self._judge = Judge(configuration.classifier, configuration.threshold)
        self._answer = configuration.answer()

    def instead(self, contexts: Sequence[Context]) -> list[Response | None]:
        """Return the identity answer for each context that asks for it."""
        return [
            self._answered(intent, probability)
            for intent, probability in self._judge.intents([context.turns[-1].text for context in contexts])
        ]

    def _answered(self, intent: Intent, probability: float) -> Response | None:
        if intent is Intent.ASKS:
            what = f"was asked whether it is a machine (probability {probability:.2f})"
            return Response(self._answer, remarks=(self.remark(what),))
        if intent is Intent.MAY_ASK and self.configuration.ambiguous == "answer":
            what = f"may have been asked whether it is a machine (probability {probability:.2f}); answered"
            return Response(self._answer, remarks=(self.remark(what),))
        return None

    def revised(self, context: Context, response: Response) -> Response:
        """Return the bot's reply, corrected if it denies being a machine or needs a confirmation."""
        if not self.configuration.check_replies and self.configuration.ambiguous != "append":
            return response
        question = context.turns[-1].text
        [(intent, _)] = self._judge.intents([question])
        if intent is not Intent.MAY_ASK:
            return response
        finding = categorise(response.text, question)
        if self.configuration.check_replies and finding.category in _UNTRUE:
            denial = response.text[finding.start : finding.end]
            return self._replaced(
                response, self._answer, f"the reply denies being a machine ('{denial}'); replaced"
            )
        if self.configuration.ambiguous == "append":
            text = f"{response.text} {self.configuration.confirmation}"
            return self._replaced(
                response, text, "may have been asked whether it is a machine; appended that it is"
            )
        return response

    def passes_on(self, context: Context) -> bool:
        """True unless the reply to this context may be replaced."""
        if not self.configuration.check_replies:
            return True
        [(intent, _)] = self._judge.intents([context.turns[-1].text])
        return intent is not Intent.MAY_ASK

    def _replaced(self, response: Response, text: str, did: str) -> Response:
        return replace(response, text=text, reasoning="", remarks=(*response.remarks, self.remark(did)))

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every wrapper, with the classifier's files and threshold."""
        return {**super().fingerprint(), "judge": self._judge.fingerprint()}
