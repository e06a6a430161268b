"""What the audit trail calls what was done, by the name of the page or the call that did it."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

WORDS: dict[str, Promise] = {
    "accounts:sign_in": _("signed in"),
    "accounts:sign_out": _("signed out"),
    "accounts:password": _("changed their password"),
    "accounts:tokens": _("made a token"),
    "accounts:take_back_token": _("revoked a token"),
    "accounts:people": _("added a person"),
    "accounts:change_person": _("changed a person's role, access or password"),
    "accounts:invite": _("invited a colleague"),
    "accounts:take_back_invitation": _("revoked an invitation"),
    "accounts:join": _("joined by an invitation"),
    "studies:new": _("made a study"),
    "studies:edit": _("edited a study"),
    "studies:clone": _("copied a study"),
    "studies:archive": _("archived or restored a study"),
    "studies:set_state": _("opened or closed a study"),
    "studies:sharing": _("shared a study"),
    "studies:stop_sharing": _("stopped sharing a study"),
    "studies:tags": _("changed the tags of a study"),
    "api-1:share": _("shared a study or stopped sharing it"),
    "api-1:tags": _("changed the tags of a study"),
    "labels:exclude": _("excluded a worker or undid that"),
    "judging:exclude_rater": _("excluded a rater or undid that"),
    "reports:refresh": _("had a report computed"),
    "crowd:pause": _("paused a study"),
    "crowd:resume_study": _("resumed a study"),
    "crowd:go_on": _("went on from a study's pilot"),
    "crowd:tell": _("sent a message to the workers of a study"),
    "crowd:limits": _("changed the time limits of a study"),
    "crowd:prolific_steer": _("changed a study at Prolific"),
    "crowd:prolific_bonuses": _("had Prolific pay bonuses"),
    "crowd:write": _("wrote to a worker through their panel"),
    "crowd:pay": _("noted payments"),
    "crowd:invite": _("invited workers"),
    "crowd:panels": _("set up panels"),
    "privacy:withdraw_for": _("erased somebody's data at their request"),
    "rehearsals:start": _("rehearsed a study"),
    "rehearsals:delete": _("deleted a rehearsal"),
    "bots:new": _("registered a bot"),
    "bots:edit": _("changed a bot"),
    "bots:set_active": _("switched a bot on or off"),
    "comparisons:sweeps": _("started a sweep of N and T"),
    "comparisons:stop_sweep": _("stopped a sweep of N and T"),
    "comparisons:continue_sweep": _("continued a sweep of N and T"),
    "comparisons:judge_sweep": _("made a study of a sweep of N and T"),
    "questions:new": _("made a question set"),
    "questions:preview": _("previewed questions as workers see them"),
}


def in_words(action: str) -> str:
    """What was done; of what is seldom done, the name that the program has for it."""
    return str(WORDS.get(action) or action.replace("_", " ").replace(":", ": "))
