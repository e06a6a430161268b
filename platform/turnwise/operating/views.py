from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from turnwise.bots import operators


@login_required
@require_safe
@never_cache
def operate(request: HttpRequest, name: str) -> HttpResponse:
    """The page on which an operator answers in a bot's place."""
    bot = get_object_or_404(operators.operable_bots(request.user), name=name)
    settings = operators.settings_of(bot)
    shown = {
        "bot": bot,
        "settings": settings,
        "prepared": [(n, text, n if n < 10 else None) for n, text in enumerate(settings.prepared, start=1)],
        "for_script": {"socket": f"/ws/operating/{bot.name}/", "max_chars": MAX_MESSAGE_CHARS},
    }
    return render(request, "operating/operate.html", shown)
