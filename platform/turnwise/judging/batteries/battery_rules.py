"""Batteries of judging studies: what they are made of, their problems, and their rules."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils.translation import gettext as _

from evaluation.questions import QuestionSet
from evaluation.report.exclusion import Rules, rated
from evaluation.report.studies import battery as report
from turnwise.judging.asks import asks_of_readers, question_sets_of
from turnwise.judging.batteries.battery_sampling import Member, Recipe
from turnwise.judging.models import Battery
from turnwise.judging.queries import queued_items_of
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study
from turnwise.studies.services import OPENED

# Fields that are fixed once the study has been opened; the number of workers is not.
_FIXED = (
    "targets", "fillers_of", "fillers", "repeats", "reasons_at", "compared_with", "seed", *asdict(Rules()),
)  # fmt: skip


def battery_of(study: Study) -> Battery | None:
    """The battery of the study's workers; None: they get items of the queue."""
    battery = Battery.objects.select_related("plan").filter(plan__study=study).first()
    if battery:
        battery.plan.study = study  # avoids reading the study again
    return battery


def report_battery(battery: Battery) -> report.Battery:
    """The battery in the format of the report."""
    return report.Battery.from_json(as_json(battery))


def as_json(battery: Battery) -> dict[str, object]:
    """The battery in the format of a bundle's study.json."""
    return {name: getattr(battery, name) for name in (*_FIXED, "workers")}


def rule_sentences(battery: Battery) -> list[str]:
    """Sentences that describe the rules for proposing exclusions."""
    return report_battery(battery).rules.sentences(question_sets_of(battery.plan.study))


def recipes_of(battery: Battery, language: str) -> list[Recipe]:
    """Recipes of the decks in this language, one for each kind of subject."""
    return [_recipe(battery, asks, language) for asks in _asks_by_kind(battery.plan.study)]


def _asks_by_kind(study: Study) -> list[list[Ask]]:
    """The asks of readers, grouped by the kind of their subject."""
    found: dict[str, list[Ask]] = {}
    for ask in asks_of_readers(study):
        found.setdefault(ask.about, []).append(ask)
    return list(found.values())


def _recipe(battery: Battery, asks: Sequence[Ask], language: str) -> Recipe:
    members = _members(asks, language)
    return Recipe(
        {target: members.get(target, []) for target in battery.targets},
        [member for system in battery.fillers_of for member in members.get(system, [])],
        battery.fillers,
        battery.repeats,
        [battery.reasons_at if question_set(ask.question_set).free_texts else () for ask in asks],
    )


def _members(asks: Sequence[Ask], language: str) -> dict[str, list[Member]]:
    """For each system, its members with an item for each of these asks in this language, ordered by item."""
    found: dict[str, list[Member]] = {}
    statement = f"""
    SELECT i.system, array_agg(i.id ORDER BY ask.number), i.cluster FROM ({queued_items_of()}) AS i
      JOIN judging_item AS item ON item.id = i.id AND item.language = %s
      JOIN studies_ask AS ask ON ask.id = i.ask_id AND ask.id = ANY(%s)
     GROUP BY i.system, i.cluster, item.response_id, item.turn_id, item.dialogue_id, item.context_id
    HAVING count(*) = %s
     ORDER BY min(i.id)
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, [asks[0].study_id, language, [ask.pk for ask in asks], len(asks)])
        for system, items, cluster in cursor.fetchall():
            found.setdefault(system, []).append(Member(tuple(items), cluster))
    return found


def why_impossible(study: Study) -> str:
    """Reason why the study's asks allow no battery, with the cure; empty if they allow one."""
    about = {ask.about for ask in asks_of_readers(study)}
    if About.CONTEXT not in about or len(about) == 1:
        return ""
    return _(
        "This study asks about contexts and about what systems replied. A battery has the same targets for "
        "all that is asked, and contexts come from sets of contexts, replies from systems. Make a study for "
        "each, or let workers judge items as they come."
    )


def why_unfit(battery: Battery) -> str:
    """Reason why the battery cannot be filled, with the cure; empty if it can."""
    return next(_problems(battery), "")


def _problems(battery: Battery) -> Iterator[str]:
    study = battery.plan.study
    if problem := why_impossible(study):
        yield problem
    yield from _wrong_numbers(battery)
    yield from _wrong_questions(battery, question_sets_of(study))
    for language in study.languages:
        for asks in _asks_by_kind(study):
            yield from _lacking(_recipe(battery, asks, language), asks, language)


def _wrong_numbers(battery: Battery) -> Iterator[str]:
    if len(battery.targets) < 2:
        yield (
            _("A battery needs two targets or more. Choose the sets of contexts that every worker judges.")
            if {ask.about for ask in asks_of_readers(battery.plan.study)} == {About.CONTEXT}
            else _("A battery needs two targets or more. Choose the systems that every worker judges.")
        )
    if both := sorted(set(battery.targets) & set(battery.fillers_of)):
        yield _("“%(system)s” is both a target and a source of fillers. Choose one of the two.") % {
            "system": both[0]
        }
    if battery.compared_with not in battery.targets:
        yield _(
            "The others are compared with “%(system)s”, which is not a target. Choose one of the targets."
        ) % {"system": battery.compared_with}
    if battery.repeats > battery.fillers:
        yield _(
            "%(repeats)s fillers should come twice, but a battery has %(fillers)s of them. Repeat fewer, or "
            "have more fillers."
        ) % {"repeats": battery.repeats, "fillers": battery.fillers}
    if battery.repeat_points is not None and not battery.repeats:
        yield _("A rule looks at what comes twice, but nothing does. Repeat a filler, or clear the rule.")
    if late := [each for each in battery.reasons_at if each > battery.of_each_ask]:
        yield _(
            "A reason is asked for at position %(position)s, and a battery has %(size)s items of each ask."
        ) % {
            "position": late[0],
            "size": battery.of_each_ask,
        }


def _wrong_questions(battery: Battery, sets: Sequence[QuestionSet]) -> Iterator[str]:
    titles = "”, “".join(questions.title for questions in sets)
    if battery.reasons_at and not any(questions.free_texts for questions in sets):
        yield _(
            "Reasons are asked for, but the questions “%(title)s” have none in free text. Choose other "
            "questions, or ask for no reasons."
        ) % {"title": titles}
    ratings = {key for questions in sets for key in rated(questions)}
    uses_ratings = battery.least_spread is not None or battery.repeat_points is not None
    if not ratings and uses_ratings:
        yield _("A rule looks at ratings, but the questions “%(title)s” have none. Clear the rule.") % {
            "title": titles
        }
    if battery.filler_question and battery.filler_question not in ratings:
        yield _("“%(key)s” is not a rating of these questions: %(known)s are.") % {
            "key": battery.filler_question,
            "known": ", ".join(sorted(ratings)) or _("none"),
        }
    if battery.filler_question and battery.filler_least is None:
        yield _("Say from which answer on a filler is judged correctly, or clear the rule about fillers.")


def _lacking(recipe: Recipe, asks: Sequence[Ask], language: str) -> Iterator[str]:
    titles = "”, “".join(ask.title for ask in asks)
    for target, members in recipe.targets.items():
        if not members:
            yield _(
                "The battery cannot be filled: there is nothing of “%(system)s” in the queue in the language "
                "%(language)s for “%(title)s”. Add it, or take it out of the targets."
            ) % {"system": target, "language": language, "title": titles}
    if len(recipe.fillers) < recipe.number:
        yield _(
            "The battery cannot be filled: it needs %(wanted)s different fillers, and the queue has "
            "%(there)s in the language %(language)s for “%(title)s”. Add more, or ask for fewer."
        ) % {
            "wanted": f"{recipe.number:,}",
            "there": f"{len(recipe.fillers):,}",
            "language": language,
            "title": titles,
        }


@transaction.atomic
def validate_battery(battery: Battery) -> None:
    """Refuse a battery with problems, or one that was changed after the study opened.

    Raises:
        ValidationError: names the problem and the cure.
    """
    battery.full_clean(exclude=["plan"])
    study = battery.plan.study
    if study.state != Study.State.DRAFT:
        stored = battery_of(study)
        if stored is None or any(getattr(stored, name) != getattr(battery, name) for name in _FIXED):
            raise ValidationError(OPENED)
    if problem := why_unfit(battery):
        raise ValidationError(problem)
