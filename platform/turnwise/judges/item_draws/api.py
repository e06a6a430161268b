"""REST API of draws of items for people by a machine judge's uncertainty."""

from datetime import datetime

from django.utils import timezone
from ninja import Field, Router, Schema

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.judges import queries
from turnwise.judges.item_draws import services as drawing
from turnwise.judging.items import item_draws
from turnwise.judging.items.item_draws import DrawProgress
from turnwise.judging.models import ItemDraw
from turnwise.judging.plan_api import study_with_queue
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.models import Ask, Study

router = Router(tags=["studies"])
_MOST = 10_000_000


class ItemDrawIn(Schema, extra="forbid"):
    """Items that are to be drawn for people; after a first draw of an ask, in addition to it."""

    items: int = Field(ge=1, le=_MOST, description="How many to draw.")
    judge: int | None = Field(
        None,
        ge=1,
        le=2**53,
        description="Id of the judge by whose uncertainty; null: that of the draw before.",
    )
    ask: int | None = Field(
        None, ge=0, le=1000, description="Number of the ask; null: the judge's, or the first."
    )
    strata: ItemDraw.Strata = Field(
        ItemDraw.Strata.SYSTEM, description="system: the same number from each; none. Of a first draw."
    )


class UndoIn(Schema, extra="forbid"):
    """An ask whose newest draw is to be undone."""

    ask: int = Field(0, ge=0, le=1000, description="Number of the ask.")


class ItemDrawOut(Schema):
    """A draw of items for people."""

    ask: int
    number: int = Field(description="Number of the draw of this ask, from 1.")
    judge: str
    source: str = Field(description="How the uncertainty is known: answers or errors.")
    strata: str
    drawn: int = Field(description="Items that it added.")
    judged: int = Field(description="How many of these people have judged.")
    begun_before: int = Field(
        description="Items that people had begun before, which have a probability of 1."
    )
    total: int = Field(description="Items from which it drew.")
    least_probability: float
    even_share: float = Field(description="Share of the draw that is even.")
    seed: int
    may_undo: bool
    made_at: datetime


class ItemDrawsOut(Schema):
    """Draws of a study by ask, the newest first."""

    items: list[ItemDrawOut]


@router.get("/studies/{slug:code}/queue/draws", response=answers(ItemDrawsOut, 404))
def draws_of_items(request: AuthenticatedHttpRequest, code: str) -> ItemDrawsOut:
    """List the draws of items for people in a study that you work on."""
    return _out(study_with_queue(request, code))


@router.post("/studies/{slug:code}/queue/draws", response=answers(ItemDrawsOut, 404, 409, has_body=True))
def draw_items(request: AuthenticatedHttpRequest, code: str, sent: ItemDrawIn) -> ItemDrawsOut:
    """Draw items for people by a judge's uncertainty; only drawn items are given to workers."""
    study = study_with_queue(request, code)
    with refusals_as_conflicts():
        if sent.judge is None:
            ask = _ask(study, sent.ask)
            drawing.draw_further(ask, further=sent.items, by=request.user, now=timezone.now())
        else:
            run = queries.runs_of(study).filter(pk=sent.judge).first()
            if run is None or sent.ask not in (None, run.ask.number):
                raise InvalidFieldsError(
                    {"judge": ["This study has no judge of these questions with this id."]}
                )
            drawing.draw(run, wanted=sent.items, strata=sent.strata, by=request.user, now=timezone.now())
    return _out(study)


@router.post("/studies/{slug:code}/queue/draws/undo", response=answers(ItemDrawsOut, 404, 409, has_body=True))
def undo_item_draw(request: AuthenticatedHttpRequest, code: str, sent: UndoIn) -> ItemDrawsOut:
    """Undo the newest draw of an ask, as long as nobody has begun an item that it added."""
    study = study_with_queue(request, code)
    with refusals_as_conflicts():
        item_draws.undo(_ask(study, sent.ask))
    return _out(study)


def _ask(study: Study, number: int | None) -> Ask:
    asks = queries.judgeable_asks(study)
    found = next((ask for ask in asks if number in (None, ask.number)), None)
    if found is None:
        known = ", ".join(str(ask.number) for ask in asks) or "none"
        raise InvalidFieldsError({"ask": [f"A machine can judge the items of these asks: {known}."]})
    return found


def _out(study: Study) -> ItemDrawsOut:
    return ItemDrawsOut(items=[_row(each) for each in item_draws.progress_of_draws(study)])


def _row(found: DrawProgress) -> ItemDrawOut:
    draw = found.draw
    return ItemDrawOut(
        ask=draw.ask.number, number=draw.number, judge=draw.judge, source=draw.source, strata=draw.strata,
        drawn=found.added, judged=found.judged, begun_before=found.begun_before, total=found.total,
        least_probability=found.least, even_share=draw.floor, seed=draw.seed, may_undo=found.may_undo,
        made_at=draw.made_at,
    )  # fmt: skip
