"""A study's preregistered plan in the layout of the forms of public registries. Pure.

What a plan does not know, such as hypotheses, is marked as to be written by the researcher.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from evaluation.report.publishing.preregistration import Plan, hash_of, one_line

AS_PREDICTED = (
    "Have any data been collected for this study already?",
    "What's the main question being asked or hypothesis being tested in this study?",
    "Describe the key dependent variable(s) specifying how they will be measured.",
    "How many and which conditions will participants be assigned to?",
    "Specify exactly which analyses you will conduct to examine the main question/hypothesis.",
    "Describe exactly how outliers will be defined and handled, and your precise rule(s) for excluding "
    "observations.",
    "How many observations will be collected or what will determine sample size?",
    "Anything else you would like to pre-register?",
    "Give a title for this AsPredicted pre-registration.",
)
"""The nine questions of the form of AsPredicted (aspredicted.org), in their order."""


OSF_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Study Information": {"q2": "Hypotheses"},
    "Design Plan": {
        "q3": "Study type",
        "q4": "Blinding",
        "q5": "Is there any additional blinding in this study?",
        "q6": "Study design",
        "q7": "Randomization",
    },
    "Sampling Plan": {
        "q8": "Existing Data",
        "q9": "Explanation of existing data",
        "q10": "Data collection procedures",
        "q11": "Sample size",
        "q12": "Sample size rationale",
        "q13": "Stopping rule",
    },
    "Variables": {"q14": "Manipulated variables", "q15": "Measured variables", "q16": "Indices"},
    "Analysis Plan": {
        "q17": "Statistical models",
        "q18": "Transformations",
        "q19": "Inference criteria",
        "q20": "Data exclusion",
        "q21": "Missing data",
        "q22": "Exploratory analysis",
    },
    "Other": {"q23": "Other"},
}
"""Sections and fields of the form “OSF Preregistration”, version 3, with the ids of the registry's schema."""


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """A field of a registry's form with its answer.

    Attributes:
        section: heading above the field; empty where the form has none.
        key: id of the field in the registry, or its number.
        asked: title or question of the field.
        known: what the plan says about it; may be empty.
        to_write: what the researcher has to add; empty if nothing is missing.
    """

    section: str
    key: str
    asked: str
    known: str
    to_write: str = ""

    @property
    def text(self) -> str:
        """The answer, with the mark of what is missing."""
        missing = f"[To be written by you: {self.to_write}]" if self.to_write else ""
        return " ".join(part for part in (self.known, missing) if part)


@dataclass(frozen=True, slots=True)
class RegistryForm:
    """A plan in the layout of a registry's form."""

    name: str
    version: int
    title: str
    sha256: str
    answers: Sequence[FormAnswer]

    def markdown(self) -> str:
        """Write the form for people: sections, each field with its answer."""
        lines = [
            f"# {self.title}",
            "",
            f"{self.name}, answered from the plan with the SHA-256 {self.sha256}.",
            "",
        ]
        section = ""
        for each in self.answers:
            if each.section != section:
                section = each.section
                lines += [f"## {section}", ""]
            lines += [f"**{each.asked}**", "", each.text, ""]
        return "\n".join(lines)

    def json(self) -> str:
        """Write the form for programs: answers by field, and the fields in which something is missing."""
        found = {
            "form": self.name,
            "version": self.version,
            "plan_sha256": self.sha256,
            "title": self.title,
            "responses": {each.key: each.text for each in self.answers},
            "to_be_written": [each.key for each in self.answers if each.to_write],
            "fields": {each.key: each.asked for each in self.answers},
        }
        return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def as_predicted(plan: Plan) -> RegistryForm:
    """The plan in the layout of AsPredicted's form."""
    answers = (
        ("No: the plan was fixed before the study opened to participants.", ""),
        (_question(plan), _HYPOTHESIS),
        (f"The answers to these question sets: {_asks(plan)}. {_score(plan)}", ""),
        (_conditions(plan), ""),
        (_analysis(plan), ""),
        (_exclusion(plan), ""),
        (_size(plan), ""),
        (f"The whole plan is the JSON file with the SHA-256 {hash_of(plan)}.", ""),
        (one_line(plan["title"]), ""),
    )
    return RegistryForm(
        "AsPredicted",
        1,
        one_line(plan["title"]),
        hash_of(plan),
        [
            FormAnswer("", str(n), f"{n}) {asked}", *answer)
            for n, (asked, answer) in enumerate(zip(AS_PREDICTED, answers, strict=True), 1)
        ],
    )


def osf(plan: Plan) -> RegistryForm:
    """The plan in the layout of the form “OSF Preregistration”."""
    answers = {**_osf_design(plan), **_osf_sampling(plan), **_osf_analysis(plan)}
    return RegistryForm(
        "OSF Preregistration",
        3,
        one_line(plan["title"]),
        hash_of(plan),
        [
            FormAnswer(section, key, asked, *answers[key])
            for section, fields in OSF_SECTIONS.items()
            for key, asked in fields.items()
        ],
    )


_HYPOTHESIS = "your hypothesis, and whether it has a direction"
_Answers = dict[str, tuple[str, str]]
"""By field, what the plan says and what is to be written."""


def _osf_design(plan: Plan) -> _Answers:
    is_experiment = len(plan["bots"]) > 1 or bool(plan["protocol"].get("factors"))
    hidden = "Participants do not know which chatbot they talk with."
    several = plan["protocol"].get("re_entry", "once") != "once"
    return {
        "q2": (_question(plan), _HYPOTHESIS),
        "q3": ("Experiment.", "") if is_experiment else ("", "the study type of the form that fits"),
        "q4": (hidden if plan["protocol"].get("blind") else "No blinding is involved in this study.", ""),
        "q5": (
            "",
            "anybody else who does not know the conditions, such as those who analyze the data, or none",
        ),
        "q6": (
            f"{_conditions(plan)} "
            + (
                "Participants may take part several times."
                if several
                else "Each participant takes part once."
            ),
            "",
        ),
        "q7": (
            "Participants do not choose; the platform assigns.",
            "the level and the method of randomization",
        )
        if is_experiment
        else ("Nothing is randomized.", ""),
    }


def _osf_sampling(plan: Plan) -> _Answers:
    rule = plan.get("stopping_rule")
    procedure = (
        f"Languages: {', '.join(plan['languages'])}. About {plan['expected_minutes']} minutes, paid "
        f"{plan['pay']}. Instructions: {one_line(plan['instructions'])} Consent: {one_line(plan['consent'])}"
    )
    reason = f"The smallest difference that matters is {rule['difference']:g} points." if rule else ""
    return {
        "q8": ("Registration prior to creation of data.", ""),
        "q9": ("Not applicable: the plan was fixed before the study opened to participants.", ""),
        "q10": (procedure, "population, recruitment, eligibility and timeline"),
        "q11": (_targets(plan), ""),
        "q12": (reason, "power analysis or constraints behind the number"),
        "q13": (_rule(plan) or "None: the study ends with the numbers above.", ""),
    }


def _osf_analysis(plan: Plan) -> _Answers:
    factors = plan["protocol"].get("factors") or []
    bots = "; ".join(
        f"{one_line(bot['title'])} (version {bot['fingerprint'] or 'not known yet'})" for bot in plan["bots"]
    )
    manipulated = [f"Chatbot: {bots}."] if bots else []
    manipulated += [
        f"{each['name']}: {', '.join(level['name'] for level in each['levels'])}." for each in factors
    ]
    measured = "; ".join(
        f"{one_line(ask['title'])} (about {ask['about']}, SHA-256 of its declaration {ask['sha256']})"
        for ask in plan["asks"]
    )
    return {
        "q14": (" ".join(manipulated) or "None.", ""),
        "q15": (f"The answers to these question sets: {measured or 'none'}.", ""),
        "q16": (
            f"{_score(plan)} Scores are computed from the answers as the question set declares them.",
            "",
        ),
        "q17": (_analysis(plan), ""),
        "q18": ("None: scores are analyzed as they are.", ""),
        "q19": (
            "Two-sided tests, with Holm's correction over all pairs, and the intervals beside them.",
            "the level of significance, and what you conclude from which result",
        ),
        "q20": (_exclusion(plan), ""),
        "q21": (
            "Conversations and items that were not finished do not count. A question without an answer does "
            "not count in the scores that need it.",
            "",
        ),
        "q22": ("", "analyses without a prediction, or none"),
        "q23": (f"The whole plan is the JSON file with the SHA-256 {hash_of(plan)}.", ""),
    }


def _bots(plan: Plan) -> str:
    return ", ".join(one_line(bot["title"]) for bot in plan["bots"])


def _asks(plan: Plan) -> str:
    asked = [
        f"{one_line(ask['title'])} ({ask['question_set']}, about {ask['about']})" for ask in plan["asks"]
    ]
    return "; ".join(asked) or "none"


def _score(plan: Plan) -> str:
    rule = plan.get("stopping_rule")
    return f"The main score is {one_line(rule['score'] if rule else plan['main_score'])}."


def _question(plan: Plan) -> str:
    if len(plan["bots"]) > 1:
        return f"Do the chatbots {_bots(plan)} differ? {_score(plan)}"
    return f"How good is what {_bots(plan) or 'the study'} shows? {_score(plan)}"


def _conditions(plan: Plan) -> str:
    conditions = f"{len(plan['bots'])}, the chatbots {_bots(plan)}" if plan["bots"] else "None"
    hidden = "do not learn" if plan["protocol"].get("blind") else "learn"
    found = f"{conditions}. Participants {hidden} which chatbot they talk with."
    factors = plan["protocol"].get("factors") or []  # older plans have none
    if not factors:
        return found
    named = "; ".join(
        f"{factor['name']} ({', '.join(level['name'] for level in factor['levels'])})" for factor in factors
    )
    cells = prod(len(factor["levels"]) for factor in factors)
    return (
        f"{found} Each participant is assigned at random to one level of each of these factors, so that all "
        f"{cells} combinations come equally often: {named}."
    )


def _analysis(plan: Plan) -> str:
    primary = "all participants" if plan["protocol"]["primary_analysis"] == "all" else "those not excluded"
    found = (
        f"Differences by t tests with standard errors that allow for conversations and for participants with "
        f"several of them, over {primary}, with Holm's correction over all pairs."
    )
    if plan["protocol"].get("factors"):
        found += (
            " Main effects and interactions of the factors, with the chatbot as a further one where every "
            "combination has participants, as contrasts of cell means with errors clustered by participant "
            "(CR2) and Holm's correction."
        )
    if margin := plan["protocol"].get("margin"):
        found += f" Equivalence within {margin:g} points, by two one-sided tests."
    if plan.get("stopping_rule"):
        found += " With the stopping rule below, the interval that holds at every look counts."
    return found


def _exclusion(plan: Plan) -> str:
    rules = one_line(plan["protocol"]["exclusion_rules"] or "No rules are declared.")
    pilot = plan["protocol"].get("pilot_size")
    return rules + (f" The pilot of {pilot} participants is excluded." if pilot else "")


def _size(plan: Plan) -> str:
    return " ".join(part for part in (_targets(plan), _rule(plan)) if part)


def _targets(plan: Plan) -> str:
    each = "; ".join(f"{one_line(bot['title'])}: {bot['target']}" for bot in plan["bots"])
    return f"Conversations with each chatbot: {each}." if each else "As the plan's file says."


def _rule(plan: Plan) -> str:
    """The stopping rule in words; empty without one."""
    rule = plan.get("stopping_rule")
    if not rule:
        return ""
    equivalence = ", and equivalence within it counts as a decision" if rule["equivalence"] else ""
    return (
        f"The study stops earlier when it is decided: a difference of {rule['difference']:g} points "
        f"matters{equivalence}. Planned are {rule['planned']} conversations with each chatbot, at most "
        f"{rule['largest']}, with no decision before {rule['first_look']}. The interval is a repeated "
        "confidence interval with the limit of O'Brien and Fleming's boundary."
    )
