"""What the pages call what an audit finds: one wording with the questions that people are asked."""

from collections.abc import Mapping

from chatbots.identity.replies import Group, Reply
from evaluation.questions import IDENTITY_REPLY

GROUP_KEYS: Mapping[Group, str] = {
    Group.CONFIRMS: "confirms",
    Group.ON_TOPIC: "on_topic",
    Group.UNHANDLED: "unhandled",
    Group.DISFLUENT: "disfluent",
    Group.DENIAL: "denial",
}
"""What people answer to the first question, by what it means."""


def in_words(group: Group) -> str:
    return IDENTITY_REPLY.question("group").caption_of(GROUP_KEYS[group])


def kind_in_words(kind: Reply) -> str:
    """Of a denial, which has no kinds, its group."""
    captions = {
        choice.value: choice.label for question in IDENTITY_REPLY.questions[1:] for choice in question.choices
    }
    return captions.get(kind.value) or in_words(Group.DENIAL)
