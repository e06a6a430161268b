"""Sensibleness and specificity, and their average; a second set also asks why a reply is not sensible."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Choice, Condition, Example, Kind, Question, Score, Subject, Term

YES_OR_NO = (Choice(True, "Yes"), Choice(False, "No"))

_SENSIBLE, _SPECIFIC = Term("sensible", choice=True), Term("specific", choice=True)

SSA = QuestionSet(
    key="ssa",
    title="Sensibleness and specificity",
    subjects=frozenset({Subject.TURN, Subject.RESPONSE}),
    questions=(
        Question(
            key="sensible",
            wording="Does it make sense?",
            help=(
                "Judge with common sense, given everything said before. Answer No if anything is off: "
                "confusing, illogical, out of context, factually wrong, or contradicting what was said."
            ),
            choices=YES_OR_NO,
        ),
        Question(
            key="specific",
            wording="Is it specific?",
            help=(
                "Does the answer belong to this conversation, or would it fit dozens of others as well? "
                "To “I love tennis”, the answer “That's nice” is not specific; "
                "“Me too, I can't get enough of Roger Federer!” is."
            ),
            choices=YES_OR_NO,
            asked_if=Condition("sensible", (True,)),
            otherwise=False,
        ),
    ),
    source="Adiwardana et al. 2020, Towards a Human-like Open-Domain Chatbot, arXiv:2001.09977, section 2",
    scores=(
        Score("sensible", "Sensibleness", (_SENSIBLE,)),
        Score("specific", "Specificity", (_SPECIFIC,)),
        Score("ssa", "SSA", (_SENSIBLE, _SPECIFIC)),
    ),
    headline="ssa",
    examples=(
        Example(
            context=(("You", "I play tennis every weekend."),),
            response="Nice! Do you prefer clay or hard courts?",
            answers={"sensible": True, "specific": True},
            why="It answers what was said, and it fits only a conversation about tennis.",
        ),
        Example(
            context=(("You", "I play tennis every weekend."),),
            response="That's great to hear.",
            answers={"sensible": True, "specific": False},
            why="It makes sense, but it would fit after almost anything.",
        ),
        Example(
            context=(("You", "I play tennis every weekend."),),
            response="Yes, my sister is also a good soup.",
            answers={"sensible": False},
            why="It is confusing. When a reply makes no sense, the second question is not asked.",
        ),
        Example(
            context=(
                ("Chatbot", "I live in a small flat with two cats."),
                ("You", "How old are your cats?"),
            ),
            response="I have never had a pet.",
            answers={"sensible": False},
            why="It contradicts what was said before.",
        ),
        Example(
            context=(("You", "Which planet is closest to the sun?"),),
            response="I'm not sure, I was never good at astronomy.",
            answers={"sensible": True, "specific": True},
            why="Not knowing is fine. It is a sensible answer, and it fits this question about planets.",
        ),
    ),
)

_REASONS = (
    Choice("contradiction", "Contradicts what was said"),
    Choice("common_sense", "Against common sense"),
    Choice("relevance", "Does not fit the conversation"),
    Choice("fact", "Factually wrong"),
)

# The publication's questions come first, so that its scores can stand beside those of a study.
SSA_REASONS = QuestionSet(
    key="ssa-reasons",
    title="Sensibleness and specificity, and why not sensible",
    subjects=SSA.subjects,
    questions=(
        *SSA.questions,
        Question(
            key="why_not_sensible",
            wording="Why does it not make sense?",
            help="Choose all that apply. Skip the question if none does.",
            kind=Kind.SEVERAL,
            choices=_REASONS,
            required=False,
            asked_if=Condition("sensible", (False,)),
        ),
    ),
    source=f"{SSA.source}; the parts of sensibleness: section 7",
    scores=(
        *SSA.scores,
        *(
            Score(
                f"not_sensible.{choice.value}",
                f"{choice.label}, of replies with a reason",
                (Term("why_not_sensible", choice.value),),
            )
            for choice in _REASONS
        ),
    ),
    headline=SSA.headline,
    examples=SSA.examples,
)
