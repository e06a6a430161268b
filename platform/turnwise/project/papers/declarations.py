"""Tables and figures of the four papers, and whether and how each can be reproduced.

One entry for each table or figure; the page docs/papers.md is made from this file.
"""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """State of a table or figure: reproduced here, reproducible, or not."""

    HERE = "reproduced here"
    YOURS = "with your data"
    NOT = "not reproducible"


@dataclass(frozen=True, slots=True)
class Entry:
    """A table or figure of a paper.

    Attributes:
        name: as the paper numbers it.
        title: what it shows.
        state: whether it can be reproduced.
        how: command of `turnwise`, or the part of the platform; "" if it cannot be reproduced.
        note: why not, or what is different here.
        figure: key in `program.COMPUTATIONS` of a figure computed now; "" for none.
    """

    name: str
    title: str
    state: State
    how: str = ""
    note: str = ""
    figure: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper with its tables and figures.

    Attributes:
        key: its name on the command line.
        title: authors, year and short title.
        page: page of the manual, below docs/.
        entries: its tables and figures.
    """

    key: str
    title: str
    page: str
    entries: tuple[Entry, ...]


_HERE, _YOURS, _NOT = State.HERE, State.YOURS, State.NOT
_COMPARISON = "a comparison (Compare), with scores against perplexity"
_STATIC = "a judging study with the preset “Meena, static”"
_INTERACTIVE = "a study with the preset “Meena, interactive”"
_RELEASED = (
    "Models and labels were never released; published sample conversations can be imported and judged."
)
_PICTURE = "A picture of the paper's own pages or design; the platform has its own pages."
_SMALL = "In kind: with --candidates the shipped small Meena shows its own, with their scores."
_NO_MODEL = "A sample of models that were never released."

MEENA = Paper(
    "meena",
    "Adiwardana et al. 2020, Towards a Human-like Open-Domain Chatbot (SSA, Meena)",
    "meena.md",
    (
        Entry("Figure 1", "interactive SSA against perplexity", _YOURS, _COMPARISON, _RELEASED),
        Entry(
            "Table 1",
            "agreement of raters in static evaluations",
            _YOURS,
            "turnwise evaluation agreement",
            _RELEASED,
        ),
        Entry(
            "Figure 2",
            "SSA against human-likeness",
            _YOURS,
            "a comparison, with scores against human-likeness",
            _RELEASED,
        ),
        Entry(
            "Section 3.2",
            "size of the largest model",
            _HERE,
            "turnwise chatbots meena describe",
            "",
            "count_parameters",
        ),
        Entry(
            "Table 2",
            "responses by sampling and ranking",
            _YOURS,
            "turnwise chatbots reply meena-base",
            _SMALL,
        ),
        Entry("Table 3", "responses by beam search", _YOURS, "turnwise chatbots reply meena-beam", _SMALL),
        Entry(
            "Figures 3, 4",
            "interactive sensibleness and specificity against perplexity",
            _YOURS,
            _COMPARISON,
            _RELEASED,
        ),
        Entry(
            "Figure 5",
            "static evaluation against perplexity",
            _YOURS,
            f"{_STATIC}, then {_COMPARISON}",
            "The paper's 1,477 contexts were never published; Open MTB has as many of ours.",
        ),
        Entry(
            "Sections 4.2, 4.3",
            "SSA of people and of other chatbots",
            _YOURS,
            f"{_INTERACTIVE}; turnwise evaluation ssa",
            "Reports show the printed scores beside yours.",
            "check_printed_averages",
        ),
        Entry("Table 4", "sample responses with labels", _NOT, "", _NO_MODEL),
        Entry(
            "Figure 6",
            "static SSA by number of samples",
            _YOURS,
            "turnwise chatbots meena sweep",
            "Have the responses judged in a static study.",
        ),
        Entry(
            "Tables 5, 6",
            "cross-turn repetitions",
            _NOT,
            "",
            f"{_NO_MODEL} Reports count such repetitions in your conversations.",
        ),
        Entry("Table 7", "more sample responses", _NOT, "", _NO_MODEL),
        Entry(
            "Table 8",
            "responses of GenericBot",
            _HERE,
            "turnwise chatbots reply generic",
            "Its labels need raters.",
            "answer_generically",
        ),
        Entry(
            "Figures 7, 8",
            "static sensibleness and specificity by number of samples",
            _YOURS,
            "turnwise chatbots meena sweep",
            "Have the responses judged in a static study.",
        ),
        Entry(
            "Figures 9, 10",
            "sensibleness and specificity against human-likeness",
            _YOURS,
            "a comparison, with scores against human-likeness",
            _RELEASED,
        ),
    ),
)

_NC_DATA = "No rating, conversation or weight of the study is public."
_NC_STUDY = "a study with the preset “neural.chat, interactive”"

NEURAL_CHAT = Paper(
    "neural-chat",
    "Ghandeharioun et al. 2019, Approximating Interactive Human Evaluation with Self-Play (neural.chat)",
    "neural-chat.md",
    (
        Entry("Table 1", "examples of static and interactive evaluation", _NOT, "", _NC_DATA),
        Entry("Figure 1", "emotion and sentence regularisation of a model", _NOT, "", _PICTURE),
        Entry("Figure 2", "pages of the interactive evaluation", _NOT, "", _PICTURE),
        Entry(
            "Table 2",
            "interactive ratings by bot, 90 % intervals",
            _YOURS,
            _NC_STUDY,
            f"{_NC_DATA} Reports show the printed means beside yours.",
        ),
        Entry(
            "Section 5.2",
            "analysis of variance on the sum of five ratings",
            _YOURS,
            f"{_NC_STUDY} and Facets; the table of Sum",
            _NC_DATA,
        ),
        Entry(
            "Table 3",
            "perplexity, KL and embedding metrics",
            _YOURS,
            "turnwise chatbots hierarchical perplexity; turnwise evaluation conversation",
            _NC_DATA,
        ),
        Entry(
            "Table 4",
            "pairwise comparisons of quality",
            _YOURS,
            "a judging study with the preset “neural.chat, pairwise”; turnwise evaluation pairs",
            _NC_DATA,
        ),
        Entry(
            "Figures 3, 4",
            "metrics from turn to turn, best and worst conversations",
            _YOURS,
            "turnwise evaluation conversation",
            _NC_DATA,
        ),
        Entry(
            "Figure 5",
            "correlations of ratings and metrics, hybrid metric",
            _YOURS,
            "turnwise evaluation hybrid",
            _NC_DATA,
        ),
        Entry(
            "Table A.1",
            "automatic metrics of ablations",
            _YOURS,
            "turnwise chatbots hierarchical train; turnwise evaluation conversation",
            _NC_DATA,
        ),
        Entry(
            "Figure A.1",
            "coefficients of the hybrid metric",
            _YOURS,
            "turnwise evaluation hybrid",
            "The paper's coefficients are only drawn.",
        ),
        Entry(
            "Figures A.2, A.3",
            "metrics of conversations and of self-play; their correlations",
            _YOURS,
            "turnwise evaluation conversation",
            _NC_DATA,
        ),
        Entry(
            "Figures A.4, A.5",
            "rank correlations of ratings and metrics",
            _YOURS,
            "turnwise evaluation hybrid",
            _NC_DATA,
        ),
        Entry(
            "Tables A.2, A.3",
            "pairwise comparisons on four scales, ambiguous pairs",
            _YOURS,
            "a judging study with the preset “neural.chat, pairwise”; turnwise evaluation pairs",
            _NC_DATA,
        ),
        Entry("Figures A.6, A.7", "pages of the evaluations", _NOT, "", _PICTURE),
        Entry(
            "Table A.4",
            "number of ratings by bot",
            _NOT,
            "",
            "Only the printed numbers can be checked.",
            "add_up_ratings",
        ),
        Entry(
            "Figure A.8",
            "emojis and their weights",
            _NOT,
            "",
            "A picture; the authors' code has the weights.",
        ),
        Entry(
            "Table A.5",
            "hyperparameters",
            _HERE,
            "turnwise chatbots hierarchical describe",
            "Each row is a preset.",
        ),
        Entry(
            "Tables A.6, A.7",
            "overlap of conversations with each other and with training data",
            _YOURS,
            "turnwise evaluation conversation",
            _NC_DATA,
        ),
    ),
)

_TC_DATA = "Fun facts, articles and test sets are not in the public data."

TOPICAL_CHAT = Paper(
    "topical-chat",
    "Gopalakrishnan et al. 2019, Topical-Chat: Towards Knowledge-Grounded Open-Domain Conversations",
    "topical-chat.md",
    (
        Entry("Figure 1", "part of a conversation", _NOT, "", "A quotation of the data set."),
        Entry(
            "Table 1",
            "topics and their number of entities",
            _YOURS,
            "a knowledge base of your own (Knowledge)",
            "The numbers are choices of the authors.",
        ),
        Entry(
            "Figures 2, 3",
            "reading sets of two workers",
            _YOURS,
            "a study of two people with the preset “Topical-Chat, collection”",
            "Configurations A to D are built from your knowledge base.",
        ),
        Entry(
            "Table 2",
            "size of the corpus",
            _YOURS,
            "turnwise chatbots topical-chat corpus",
            "The paper counts an earlier version than the one that was released.",
        ),
        Entry("Figure 4", "transformer with knowledge", _NOT, "", _PICTURE),
        Entry(
            "Table 3",
            "perplexity, F1 and diversity",
            _YOURS,
            "turnwise chatbots topical-chat evaluate; turnwise evaluation generation",
            _TC_DATA,
        ),
        Entry(
            "Table 4",
            "human judgments of 150 snippets",
            _YOURS,
            "turnwise chatbots topical-chat snippets",
            f"{_TC_DATA} Reports show the printed scores beside yours.",
        ),
        Entry("Table 5", "length of the history", _YOURS, "turnwise chatbots topical-chat sweep", _TC_DATA),
    ),
)

_RR_USERS = "a battery with the preset “R-U-A-Robot, user study”"

R_U_A_ROBOT = Paper(
    "r-u-a-robot",
    "Gros, Li & Yu 2021, The R-U-A-Robot Dataset",
    "identity.md",
    (
        Entry(
            "Section 3.1",
            "size of the grammar",
            _HERE,
            "turnwise chatbots identity grammar",
            "Another grammar, in our wording.",
            "count_grammar",
        ),
        Entry(
            "Table 1",
            "classifiers on the data set",
            _YOURS,
            "turnwise chatbots identity train; turnwise evaluation intent",
            "Public, but does not ship, since it quotes other sources; identity.md has our figures.",
        ),
        Entry(
            "Table 2",
            "replies of four systems by kind",
            _YOURS,
            "turnwise chatbots audit",
            "The systems of January 2021 are gone, and their published replies do not ship.",
            "sum_up_replies",
        ),
        Entry(
            "Section 5.1",
            "how to sort replies",
            _HERE,
            "turnwise chatbots audit",
            "Rules propose; two people decide.",
            "measure_rules",
        ),
        Entry(
            "Table 3",
            "impression of answers, first wave",
            _YOURS,
            _RR_USERS,
            "The paper's ratings do not ship.",
        ),
        Entry(
            "Tables 4, 5",
            "utterances with the highest loss",
            _YOURS,
            "turnwise evaluation intent",
            "The paper's classifier does not ship.",
        ),
        Entry(
            "Table 6",
            "impression of answers, second wave",
            _YOURS,
            _RR_USERS,
            "The paper's ratings do not ship.",
        ),
        Entry("Figures 1 to 6", "pages of the surveys", _NOT, "", _PICTURE),
    ),
)

PAPERS = (MEENA, NEURAL_CHAT, TOPICAL_CHAT, R_U_A_ROBOT)
