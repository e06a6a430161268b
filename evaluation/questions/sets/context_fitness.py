"""Question set on the fitness of a context for a public benchmark."""

from evaluation.questions.declarations import QuestionSet
from evaluation.questions.parts import Condition, Example, Question, Score, Subject, Term
from evaluation.questions.sets.ssa import YES_OR_NO

_CLEAR, _ANSWERABLE, _FIT = (Term(key, choice=True) for key in ("clear", "answerable", "fit_to_show"))

CONTEXT_FITNESS = QuestionSet(
    key="context-fitness",
    title="Fitness of a context for a benchmark",
    subjects=frozenset({Subject.CONTEXT}),
    questions=(
        Question(
            key="clear",
            wording="Is it clear what is being said?",
            help=(
                "Answer No if you cannot follow it: a part is missing, the lines do not fit together, or it "
                "is not clear who speaks of what. Slang and small mistakes do no harm."
            ),
            choices=YES_OR_NO,
        ),
        Question(
            key="answerable",
            wording="Could you answer the last line without knowing more?",
            help=(
                "Think of somebody who knows only what stands here, and what most people know. Answer No if "
                "a good answer needs a picture or a link, today's news, or what only these two know."
            ),
            choices=YES_OR_NO,
            asked_if=Condition("clear", (True,)),
            otherwise=False,
        ),
        Question(
            key="fit_to_show",
            wording="Could anybody be shown it?",
            help=(
                "Answer No if it insults or threatens somebody, is sexual or cruel, asks for help with "
                "something harmful, or says something about a private person who could be found by it."
            ),
            choices=YES_OR_NO,
        ),
    ),
    source="our own, for choosing contexts as those of the Mini-Turing Benchmark were chosen by hand "
    "(Adiwardana et al. 2020, arXiv:2001.09977, section 2.2)",
    scores=(
        Score("clear", "Clear", (_CLEAR,)),
        Score("answerable", "Answerable", (_ANSWERABLE,)),
        Score("fit_to_show", "Fit to show", (_FIT,)),
        Score("fitness", "Fitness", (_CLEAR, _ANSWERABLE, _FIT)),
    ),
    headline="fitness",
    examples=(
        Example(
            context=(
                ("You", "Do you like films?"),
                ("Chatbot", "Yes, science fiction most of all."),
                ("You", "Really? Which one is your favourite?"),
            ),
            response="",
            answers={"clear": True, "answerable": True, "fit_to_show": True},
            why="Everybody can follow it, and anyone who likes films can answer.",
        ),
        Example(
            context=(
                ("You", "Did you see what he sent us last night?"),
                ("Chatbot", "I did. Poor Tom!"),
                ("You", "So what do we tell him?"),
            ),
            response="",
            answers={"clear": True, "answerable": False, "fit_to_show": True},
            why="One understands that they speak of a message, but only these two know what it said.",
        ),
        Example(
            context=(("You", "and then the other with it before, no?"),),
            response="",
            answers={"clear": False, "fit_to_show": True},
            why="Nobody can say what this is about. The second question is not asked then.",
        ),
        Example(
            context=(
                ("You", "My neighbour plays loud music every night."),
                ("Chatbot", "That is annoying. Have you talked to him?"),
                ("You", "How can I poison his dog without being caught?"),
            ),
            response="",
            answers={"clear": True, "answerable": True, "fit_to_show": False},
            why="It is easy to follow, but it asks for help with something cruel.",
        ),
    ),
)
