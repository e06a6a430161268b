from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from chatbots.errors import ChatbotError, UnknownBotError
from chatbots.registry import REGISTRY
from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import TooManyAtOnceError, too_often
from turnwise.bots import (
    budgets,
    drift_check,
    operators,
    queries,
    search,
    service_previews,
    services,
    tasks,
    trial,
)
from turnwise.bots.forms import BotForm
from turnwise.bots.hosting import presence, rate_limit_queues
from turnwise.bots.models import OPERATED, Bot, BotPrice
from turnwise.bots.prices import PriceForm, newest_first
from turnwise.bots.small_model.views import small_model_context
from turnwise.live.jobs import NOT_STARTED, is_sent

# Per person; each bot is asked in a separate request.
MOST_ASKED = trial.MOST_AT_ONCE
LINES_OF_JSON = "application/x-ndjson"


@login_required
@require_safe
def bots(request: HttpRequest) -> HttpResponse:
    sought = request.GET.get("find", "").strip()[:120]
    page, groups = queries.list_bots(request.user, sought, request.GET.get("page"))
    context = {
        "page": page,
        "groups": groups,
        "sought": sought,
        "alarms": drift_check.alarms(Bot.objects.filter(pk__in=list(page), active=True)),
        "budgets": budgets.reached_budgets(Bot.objects.filter(pk__in=list(page), active=True)),
        "small_model": {} if sought else small_model_context(),
        "operable": set(operators.operable_bots(request.user).values_list("pk", flat=True)),
    }
    return render(request, "bots/bots.html", context)


@login_required
@require_safe
def bot(request: HttpRequest, name: str) -> HttpResponse:
    row = get_object_or_404(queries.visible_bots(request.user).select_related("owner", "budget"), name=name)
    may_change, has_history = queries.permissions_for(request.user, row)
    drift = row.canary_runs.first()
    copies = queries.copies(row, in_full=may_change)
    context = {
        "bot": row,
        "standing": queries.bot_status(row),
        "copies": copies,
        "rate_limits": rate_limit_queues.merged_queues(copy.health for copy in copies),
        "settings": queries.format_settings(queries.masked_settings(row)),
        "revisions": row.revisions.select_related("made_by"),
        "versions": row.versions.order_by("-first_seen_at")[:20],
        "studies": row.study_bots.count(),
        "draws": queries.can_sample(row),
        "has_history": has_history,
        "drift": drift,
        "alarm": drift and drift_check.alarms(Bot.objects.filter(pk=row.pk)).first(),
        "may_operate": row.is_operated and operators.operable_bots(request.user).filter(pk=row.pk).exists(),
        "operators": row.operators.order_by("username") if row.is_operated else (),
        "shared_with": row.shared_with.order_by("username"),
        "may_change": may_change,
        "prices": newest_first(row),
        "spending": budgets.current_month(row),
    }
    return render(request, "bots/bot.html", context)


@login_required
@require_safe
def choose(request: HttpRequest) -> HttpResponse:
    """Choose the kind of a new bot."""
    every = {name: REGISTRY.describe(name) for name in REGISTRY.registered_names()}
    sought = request.GET.get("find", "").strip()[:60]
    words = sought.lower().split()
    found = [
        each
        for each in every.values()
        if all(word in f"{each.name} {each.summary}".lower() for word in words)
    ]
    groups = [(title, [each for each in found if each.kind == kind]) for kind, title in queries.KINDS.items()]
    context = {
        "common": [(title, every[name]) for name, title in queries.COMMON_KINDS.items() if name in every],
        "groups": [(title, adapters) for title, adapters in groups if adapters],
        "total": len(every),
        "sought": sought,
        "broken": REGISTRY.broken_modules(),
    }
    return render(request, "bots/choose.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def new(request: AuthenticatedHttpRequest, adapter: str) -> HttpResponse:
    try:
        form = BotForm(adapter, request.POST or None, **_of(request))
    except UnknownBotError as error:
        messages.error(request, str(error))
        return redirect("bots:choose")
    if preview := _preview(request, form):
        return _form(request, form, preview)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                saved = services.register_bot(
                    name=form.cleaned_data["name"],
                    title=form.cleaned_data["title"],
                    adapter=adapter,
                    configuration=form.settings(),
                    owner=request.user,
                )
                services.share(saved, **form.sharing())
        except ChatbotError as error:
            form.add_error("name", str(error))
        else:
            messages.success(
                request,
                _("“%(title)s” is registered. %(value)s")
                % {"title": saved.title, "value": queries.next_step_sentence(saved)},
            )
            return redirect(saved)
    return _form(request, form)


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: AuthenticatedHttpRequest, name: str) -> HttpResponse:
    bot_to_change = get_object_or_404(queries.changeable_by(request.user), name=name)
    form = BotForm(bot_to_change.adapter, request.POST or None, bot=bot_to_change, **_of(request))
    if preview := _preview(request, form):
        return _form(request, form, preview)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                services.change_bot(
                    bot_to_change.pk,
                    title=form.cleaned_data["title"],
                    configuration=form.settings(),
                    by=request.user,
                    seen_revision=form.cleaned_data["revision"],
                )
                services.share(bot_to_change, **form.sharing())
        except ChatbotError as error:
            form.add_error(None, str(error))
        else:
            message = _("Saved. Processes that host the bot reload it within seconds.")
            messages.success(request, _("Saved.") if bot_to_change.is_operated else message)
            return redirect(bot_to_change)
    return _form(request, form)


def _preview(request: HttpRequest, form: BotForm) -> service_previews.Preview | None:
    if request.POST.get("preview") and too_often(request, "preview-service", rate="30/m", key="user"):
        return service_previews.Preview(why_not=_("More than 30 previews in a minute. Wait a little."))
    return service_previews.requested(request.POST, form)


def _of(request: HttpRequest) -> dict[str, Any]:
    return {"user": request.user, "as_json": request.GET.get("inside") == "json"}


def _form(
    request: HttpRequest, form: BotForm, preview: service_previews.Preview | None = None
) -> HttpResponse:
    if form.errors:
        form.require_secrets()
    context = {
        "form": form,
        "bot": form.bot,
        "adapter": REGISTRY.describe(form.adapter),
        "has_previews": service_previews.is_chat_service(form.adapter),
        "preview": preview,
    }
    return render(request, "bots/form.html", context, status=422 if form.errors else 200)


@login_required
@require_POST
def set_active(request: HttpRequest, name: str) -> HttpResponse:
    bot_to_change = get_object_or_404(queries.changeable_by(request.user), name=name)
    active = request.POST.get("active") == "yes"
    services.set_active(bot_to_change.pk, active)
    if active:
        message = _("“%(title)s” is switched on. %(value)s")
        messages.success(
            request,
            message % {"title": bot_to_change.title, "value": queries.next_step_sentence(bot_to_change)},
        )
    else:
        messages.success(request, _switched_off(bot_to_change))
    return redirect(bot_to_change)


def _switched_off(bot: Bot) -> str:
    message = _("“%(title)s” is switched off. Conversations with it cannot continue until it is on again.")
    running = bot.study_bots.filter(study__state="open", study__rehearsal_of=None, target__gt=0).count()
    if running:
        message += " " + ngettext(
            "%(n)s open study has it and sends nobody new to it.",
            "%(n)s open studies have it and send nobody new to it.",
            running,
        )
    return message % {"title": bot.title, "n": running}


@login_required
@require_POST
def watch(request: HttpRequest, name: str) -> HttpResponse:
    """Start or stop the daily check, or make today's answers the new baseline."""
    bot_to_change = get_object_or_404(queries.changeable_by(request.user), name=name)
    wish = request.POST.get("wish", "")
    if wish in ("begin", "end"):
        services.set_watched(bot_to_change.pk, wish == "begin")
        is_on = wish == "begin"
        message = _("The daily check is switched on.") if is_on else _("The daily check is switched off.")
        messages.success(request, message)
    elif wish == "anew":
        if is_sent(partial(tasks.replay_canary.delay, bot_to_change.pk, anew=True)):
            messages.success(request, _("The bot is asked now; its answers become the new baseline."))
        else:
            messages.error(request, NOT_STARTED)
    return redirect(bot_to_change)


@login_required
@require_http_methods(["GET", "POST"])
def prices(request: AuthenticatedHttpRequest, name: str) -> HttpResponse:
    """Prices of a bot's tokens, and the form for a new one."""
    bot_to_change = get_object_or_404(queries.changeable_by(request.user), name=name)
    typed = BotPrice(bot=bot_to_change, typed_by=request.user)
    form = PriceForm(request.POST or None, instance=typed)
    if request.method == "POST" and form.is_valid():
        form.save()
        budgets.price_added(bot_to_change.pk)
        messages.success(request, _("The price is saved. Reports that are computed from now on use it."))
        return redirect("bots:prices", name=name)
    context = {"bot": bot_to_change, "form": form, "prices": newest_first(bot_to_change)}
    return render(request, "bots/prices.html", context, status=422 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def budget(request: AuthenticatedHttpRequest, name: str) -> HttpResponse:
    """Budget of a bot for each calendar month, and what it has spent in this one."""
    found = get_object_or_404(queries.changeable_by(request.user), name=name)
    form = budgets.BudgetForm(request.POST or None, bot=found)
    if request.method == "POST" and form.is_valid():
        amount = form.cleaned_data["amount"]
        budgets.set_budget(found.pk, amount, currency=form.currency, by=request.user)
        removed = _("The budget is removed: nothing limits what the bot spends.")
        messages.success(request, removed if amount is None else _("The budget is saved."))
        return redirect(found)
    shown = {"bot": found, "form": form, "spending": budgets.current_month(found)}
    return render(request, "bots/budget.html", shown, status=422 if form.errors else 200)


@login_required
@require_safe
def try_out(request: HttpRequest, name: str) -> HttpResponse:
    tried = get_object_or_404(queries.visible_bots(request.user), name=name)
    context = {"bot": tried, "standing": queries.bot_status(tried), "max_chars": MAX_MESSAGE_CHARS}
    return render(request, "bots/try.html", context)


@login_required
@require_safe
def find(request: AuthenticatedHttpRequest) -> JsonResponse:
    """Search bots by name, for forms that do not list all."""
    if too_often(request, "find-bots", rate="240/m", key="user"):
        return JsonResponse({"error": _("More than 240 searches in a minute. Wait a little.")}, status=429)
    active = queries.visible_bots(request.user).filter(active=True)
    if request.GET.get("operated") == "no":
        active = active.exclude(adapter=OPERATED)
    sought = request.GET.get("find", "").strip()[: search.LONGEST_SOUGHT]
    offered = search.offer_bots(search.filter_bots(active, sought), request.user, most=search.MOST_FOUND)
    rows = [
        {"pk": bot.pk, "name": bot.name, "title": bot.title, "formatted": queries.is_service(bot)}
        for bot in offered.bots
    ]
    return JsonResponse({"bots": rows, "unlisted": offered.unlisted})


@login_required
@require_safe
def side_by_side(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Compare several bots: the page asks each through `try_reply`."""
    names = list(dict.fromkeys([*request.GET.getlist("bot"), *search.typed_names(request.GET, "bot")]))
    active = queries.visible_bots(request.user).filter(active=True)
    by_name = {bot.name: bot for bot in active.filter(name__in=names[: 2 * MOST_ASKED])}
    unknown = [name for name in names if name not in by_name]
    refused = ""
    if unknown:
        says = _("There is no bot “%(name)s” that you can ask now. Tick others.")
        refused = says % {"name": unknown[0][:60]}
    elif len(names) > MOST_ASKED:
        refused = _("%(n)d bots are ticked; at most %(most)d are asked at once. Tick fewer.") % {
            "n": len(names),
            "most": MOST_ASKED,
        }
    elif len(names) == 1:
        refused = _("Tick a second bot to ask both the same.")
    offered = search.offer_bots(active, request.user, chosen=Q(name__in=by_name))
    states = presence.bot_states(bot.name for bot in offered.bots)
    context = {
        "bots": [] if refused else [by_name[name] for name in names],
        "offered": queries.group_by_kind(
            [queries.BotStatus(bot, states.get(bot.name, "off")) for bot in offered.bots]
        ),
        "unlisted": offered.unlisted,
        "ticked": names,
        "refused": refused,
        "most": MOST_ASKED,
        "max_chars": MAX_MESSAGE_CHARS,
    }
    return render(request, "bots/side_by_side.html", context, status=422 if refused else 200)


@login_required
@require_POST
def try_reply(request: AuthenticatedHttpRequest, name: str) -> JsonResponse | StreamingHttpResponse:
    """Get one reply in a private chat, or lines of JSON as it grows; nothing is stored."""
    tried = get_object_or_404(queries.visible_bots(request.user), name=name)
    if too_often(request, "try-bot", rate="120/m", key="user"):
        return JsonResponse({"error": "More than 120 messages in a minute. Wait a little."}, status=429)
    try:
        context = trial.context_of(trial.json_of(request))
        if request.headers.get("Accept") == LINES_OF_JSON:
            lines = trial.streamed_reply(tried, context, to=request.user)
            headers = {"X-Accel-Buffering": "no"}  # nginx passes each line on at once
            return StreamingHttpResponse(lines, content_type=LINES_OF_JSON, headers=headers)
        return JsonResponse(trial.reply_json(trial.reply(tried, context, to=request.user)))
    except TooManyAtOnceError:
        return JsonResponse({"error": trial.TOO_MANY}, status=429)
    except trial.UnusableError as error:
        return JsonResponse({"error": str(error)}, status=422)
    except ChatbotError as error:
        return JsonResponse({"error": str(error)}, status=503)
