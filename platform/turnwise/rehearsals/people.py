"""What simulated workers say of themselves."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from evaluation.questions import QuestionSet
from turnwise.rehearsals.planted import Answers, Kind, Plan
from turnwise.rehearsals.visitor import Page, PageError, Visitor

EVERYBODY = "everybody"
SETTINGS = "questionnaire-settings"
NOT_TAKEN = 422
LEAVES_OUT = 5
"""One worker of so many leaves out what need not be answered."""


@dataclass
class People:
    """What a study asks people about themselves.

    Attributes:
        plans: by question set, what they are dealt.
        left_out: by question set, how many of them left it out.
    """

    plans: Mapping[str, Plan] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    _one_by_one: Any = field(default_factory=Lock)

    @classmethod
    def asked(cls, sets: Iterable[QuestionSet]) -> "People":
        return cls({each.key: Plan(each, [EVERYBODY], alone=True) for each in sets})

    def answered(self, visitor: Visitor, page: Page, number: int) -> Page:
        """From a page with questions about the worker to what follows it; any other page as it is."""
        if SETTINGS not in page.scripts:
            return page
        asked = page.settings()["sets"]
        with self._one_by_one:
            dealt = {each["key"]: self._dealt(each, number) for each in asked}
        sent = {key: {"answers": answers} for key, answers in dealt.items()}
        try:
            return visitor.submit(page, page.form(page.address), answers=json.dumps(sent))
        except PageError as error:
            if error.status == NOT_TAKEN:
                dealt = {}
            raise  # there was nothing left to do; what they said of themselves is stored
        finally:
            with self._one_by_one:
                for key, answers in dealt.items():
                    self._note(key, number, answers)

    def _dealt(self, asked: Mapping[str, Any], number: int) -> Answers | None:
        if not asked["required"] and number % LEAVES_OUT == 0:
            return None
        plan = self.plans[asked["key"]]
        plan.meet(str(number), EVERYBODY)
        return plan.deal(str(number), Kind.CAREFUL)

    def _note(self, key: str, number: int, answers: Answers | None) -> None:
        if answers is None:
            self.left_out[key] += 1
        else:
            self.plans[key].note(str(number), Kind.CAREFUL, answers)
