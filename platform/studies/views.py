from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from studies import services
from studies.forms import StudyForm, chosen_targets, target_formset
from studies.models import Study
from studies.queries import studies_of


def home(request: HttpRequest) -> HttpResponse:
    return redirect("reports:studies" if request.user.is_authenticated else "accounts:sign_in")


@login_required
def new(request: HttpRequest) -> HttpResponse:
    return _form(request, None)


@login_required
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    return _form(request, get_object_or_404(studies_of(request.user), pk=pk))


def _form(request: HttpRequest, study: Study | None) -> HttpResponse:
    form = StudyForm(request.POST or None, instance=study)
    bot_forms = target_formset(study, request.POST or None)
    if request.method == "POST" and form.is_valid() and bot_forms.is_valid():
        try:
            saved = services.save_study(
                form.save(commit=False),
                owner=request.user,  # type: ignore[arg-type]  # login_required
                consent_text=form.cleaned_data["consent_text"],
                targets=chosen_targets(bot_forms),
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, f"“{saved.title}” is saved.")
            return redirect(saved)
    status = 200 if request.method == "GET" else 422
    return render(
        request, "studies/form.html", {"form": form, "bot_forms": bot_forms, "study": study}, status=status
    )


@login_required
@require_POST
def set_state(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    try:
        services.set_state(study.pk, Study.State(request.POST.get("state", "")))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except ValueError:
        messages.error(
            request, f"“{request.POST.get('state', '')[:20]}” is not a state of a study. Use open or closed."
        )
    return redirect(study)
