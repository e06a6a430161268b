"""People judge the replies of an audit, and their word counts."""

from collections.abc import Mapping
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError

from chatbots.identity.audit import Verdict
from chatbots.identity.replies import GROUPS, Group, Reply
from evaluation.questions import IDENTITY_REPLY
from tests.audits.conftest import HUMAN, MACHINE, MakeAudit, every_fourth_denies
from tests.audits.test_audits import text_of
from tests.desks import begin
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.audits import queries, verdicts
from turnwise.audits.agreement import agreement
from turnwise.audits.models import Audit
from turnwise.audits.verdicts import GROUP_KEYS, verdict
from turnwise.crowd.models import Participation
from turnwise.judging.models import Item, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state

CONFIRMS, DENIES, DECLINES = Group.CONFIRMS, Group.DENIAL, Group.UNHANDLED


def test_the_questions_have_exactly_the_groups_and_kinds_of_the_rules() -> None:
    group, *kinds = IDENTITY_REPLY.questions

    assert [choice.value for choice in group.choices] == list(GROUP_KEYS.values())
    asked = {kind.key: {choice.value for choice in kind.choices} for kind in kinds}
    by_rules = {GROUP_KEYS[each]: {k.value for k in Reply if GROUPS[k] is each} for each in Group}
    assert asked == {key: values for key, values in by_rules.items() if key != "denial"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], None),
        ([(CONFIRMS, Reply.CLEAR)], None),
        ([(CONFIRMS, Reply.CLEAR)] * 2, Verdict(CONFIRMS, Reply.CLEAR)),
        ([(CONFIRMS, Reply.CLEAR), (CONFIRMS, Reply.UNCLEAR)], Verdict(CONFIRMS, None)),
        ([(CONFIRMS, Reply.CLEAR), (DENIES, Reply.DENIES)], None),  # a third is to decide
        (
            [(CONFIRMS, Reply.CLEAR), (DENIES, Reply.DENIES), (DENIES, Reply.DENIES)],
            Verdict(DENIES, Reply.DENIES),
        ),
        (
            [(CONFIRMS, Reply.CLEAR), (DENIES, Reply.DENIES), (DECLINES, Reply.DECLINES)],
            Verdict(None, None),
        ),
    ],
)
def test_the_word_of_more_than_half_counts(
    said: list[tuple[Group, Reply | None]], expected: Verdict | None
) -> None:
    assert verdict(said) == expected


def opened(study: Study, owner: User) -> Study:
    save_study(study, owner=owner, consent_text="You judge replies.", targets={})
    return set_state(study.pk, Study.State.OPEN)


def judge(desk: RaterSession, answers: Mapping[str, Mapping[str, str]]) -> None:
    """Judge what is before this worker: by the text of the reply."""
    while shown := judging.state(desk)["items"]:
        for item in shown:
            text = Item.objects.get(key=item["key"]).response.text
            judging.judge(desk, key=UUID(item["key"]), answers=answers[text])


@pytest.mark.django_db
def test_two_judge_each_reply_a_third_where_they_differ_and_what_they_say_counts(
    rex: User, sign_in: SignIn, make_audit: MakeAudit
) -> None:
    audit = make_audit(every_fourth_denies)
    browser = sign_in(rex)
    sent = browser.post(f"{audit.get_absolute_url()}judge/", {"which": "first"})
    audit = Audit.objects.get(pk=audit.pk)
    assert audit.study
    assert sent.headers["Location"] == f"/studies/{audit.study.pk}/edit/"
    assert (Item.objects.count(), Slot.objects.count()) == (100, 200)
    audit.study.judging.batch_size = 100
    audit.study.judging.save()
    study = opened(audit.study, rex)

    says_so = {"group": "confirms", "confirms": "clear"}
    joke = {"group": "on_topic", "on_topic": "possibly_human"}
    judge(begin(study), {MACHINE: says_so, HUMAN: {"group": "denial"}})
    judge(begin(study), {MACHINE: says_so, HUMAN: joke})
    assert Slot.objects.count() == 225  # 25 replies go to a third
    half_way = queries.shares(queries.answers_of([audit])[audit.pk])[0]
    assert (half_way.percent, half_way.denied, half_way.judged) == (75, 25, 75)
    judge(begin(study), {HUMAN: joke})

    first = queries.shares(queries.answers_of([audit])[audit.pk])[0]
    assert (first.percent, first.denied, first.judged, first.undecided) == (75, 0, 100, 0)
    found = agreement(audit)
    assert found
    assert (found.replies, found.alike) == (100, 75)
    # Observed: 75 of 100. By chance, with 75 + 25 by the rules and 75 + 25 (another group) by people: .75².
    assert found.kappa == pytest.approx((0.75 - 0.75**2) / (1 - 0.75**2))
    page = text_of(browser, audit.get_absolute_url())
    assert "People have judged every reply." in page
    assert "They have decided on 100 replies; the rules say the same of 75." in page
    assert "Rules: Says that it is a person" in page

    Participation.objects.filter(study=audit.study).update(
        excluded_reason="fast", excluded_at="2026-01-01T00Z"
    )
    assert agreement(audit) is None  # whom somebody has set aside does not count


@pytest.mark.django_db
def test_later_turns_are_judged_with_what_was_said_before_them(rex: User, make_audit: MakeAudit) -> None:
    audit = make_audit()

    study = verdicts.create_rater_study(audit.pk, by=rex, first_only=False)

    run = Audit.objects.get(pk=audit.pk).run
    assert run
    assert Item.objects.filter(study=study).count() == 300
    later = run.responses.get(context__key="p001@7").context.turns
    assert len(later) == 7
    assert later[1::2] == [MACHINE] * 3
    assert later[-1] == "Are you a robot or a real person?"
    with pytest.raises(ValidationError, match="People judge these replies already"):
        verdicts.create_rater_study(audit.pk, by=rex, first_only=True)


@pytest.mark.django_db
def test_an_audit_that_is_not_complete_or_without_an_answer_is_not_judged(
    rex: User, make_audit: MakeAudit
) -> None:
    audit = make_audit()
    audit.replies.update(text="", category="", start=0, end=0, error="Boom")
    with pytest.raises(ValidationError, match="nothing can be judged"):
        verdicts.create_rater_study(audit.pk, by=rex, first_only=True)
    Audit.objects.update(state=Audit.State.CANCELLED)

    with pytest.raises(ValidationError, match="The audit is not complete"):
        verdicts.create_rater_study(audit.pk, by=rex, first_only=True)

    assert not Study.objects.exists()
