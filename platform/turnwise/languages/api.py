"""REST API of languages of worker pages: list, add, change, and their translations as files."""

from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema, Status
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest, visible_to
from turnwise.accounts.limits import too_often
from turnwise.accounts.uploads_api import MOST_NAMED, UploadIn, reading_a_file
from turnwise.languages import files, queries, services
from turnwise.languages.catalog_files import FileFaultsError
from turnwise.languages.forms import NewLanguageForm, SettingsForm
from turnwise.languages.models import LONGEST_CODE, Language
from turnwise.languages.views import RATE
from turnwise.live.cursors import PathKey
from turnwise.live.http_responses import answers, file_answer, takes_a_file
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form

router = Router(tags=["languages"])
Name = Annotated[str, Field(max_length=60)]
WRITERS = {"csv": (files.csv_file, "text/csv"), "po": (files.catalog_text, "text/x-gettext-translation")}
Ending = Annotated[Literal["csv", "po"], Query("csv", alias="format", description="Kind of file.")]


class LanguageIn(Schema, extra="forbid"):
    """A new language. Names and plural rule of well-known ones may be left out."""

    code: str = Field(min_length=2, max_length=LONGEST_CODE, description="BCP 47, such as `sw` or `es-MX`.")
    name: Name = Field("", description="In English.")
    local_name: Name = Field("", description="In the language itself.")
    right_to_left: bool = False
    plural_forms: str = Field("", max_length=300, description="As gettext writes it; empty if it is known.")


class LanguageChangeIn(Schema, extra="forbid"):
    """Changes of your own language; fields that are left out stay."""

    name: Name | None = None
    local_name: Name | None = None
    right_to_left: bool | None = None
    active: bool | None = Field(None, description="Whether studies can use it.")
    editors: list[str] | None = Field(None, max_length=50, description="User names of its translators.")


class LanguageOut(Schema):
    """A language of worker pages."""

    id: int
    code: str
    name: str
    local_name: str
    right_to_left: bool
    active: bool
    translated: int
    total: int = Field(description="Texts that workers can read.")


class SavedOut(Schema):
    """Translations that were saved."""

    changed: int = Field(description="Texts that changed; empty translations change nothing.")


@router.get("/languages", response=answers(list[LanguageOut]))
def list_languages(request: AuthenticatedHttpRequest) -> list[LanguageOut]:
    """List the languages with the numbers of their translated texts."""
    return [_language(each) for each in queries.all_progress()]


@router.post("/languages", response=answers(LanguageOut, 429, status=201, has_body=True))
def add_language(request: AuthenticatedHttpRequest, sent: LanguageIn) -> Status[LanguageOut]:
    """Add a language, of which nothing is translated yet."""
    _count(request)
    form = filled_form(NewLanguageForm, sent.model_dump())
    try:
        made = services.add_language(request.user, **form.cleaned_data)
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return Status(201, _language(queries.progress_of(made)))


@router.patch("/languages/{int:language}", response=answers(LanguageOut, 404, 429, has_body=True))
def change_language(
    request: AuthenticatedHttpRequest, language: PathKey, sent: LanguageChangeIn
) -> LanguageOut:
    """Change names, direction, use or translators of a language that you added."""
    own = get_object_or_404(visible_to(request.user, Language.objects.all(), owner="created_by"), pk=language)
    _count(request)
    form = filled_form(lambda data: SettingsForm(data, instance=own), sent.model_dump(exclude_none=True))
    values = dict(form.cleaned_data)
    editors = values.pop("editors")
    services.change_language(own, request.user, editors, **values)
    return _language(queries.progress_of(Language.objects.get(pk=own.pk)))


@router.get(
    "/languages/{int:language}/texts",
    response={frozenset({400, 404}): None},
    openapi_extra=file_answer(*(kind for _write, kind in WRITERS.values())),
)
def language_texts(
    request: AuthenticatedHttpRequest, language: PathKey, ending: Ending = "csv"
) -> HttpResponse:
    """Get all texts of a language with their translations, as a file."""
    found = get_object_or_404(Language, pk=language)
    write, content_type = WRITERS[ending]
    return HttpResponse(write(found), content_type=f"{content_type}; charset=utf-8")


@router.post(
    "/languages/{int:language}/texts",
    response=answers(SavedOut, 404, 429, has_body=True),
    openapi_extra=takes_a_file(files.MOST_BYTES),
)
def save_language_texts(request: AuthenticatedHttpRequest, language: PathKey, sent: UploadIn) -> SavedOut:
    """Save the translations of a file (.po or .csv): all of them, or none."""
    found = get_object_or_404(queries.editable_languages(request.user), pk=language)
    _count(request)
    data = sent.data()
    try:
        with reading_a_file(request):
            return SavedOut(changed=files.upload(found, request.user, sent.name, data))
    except FileFaultsError as error:
        named = [f"Line {each.line}: {each.says}" for each in error.faults[:MOST_NAMED]]
        raise InvalidFieldsError({"text": named}) from None


def _count(request: AuthenticatedHttpRequest) -> None:
    if too_often(request, "languages", rate=RATE, key="user"):
        raise HttpError(429, "Languages can be changed 300 times an hour. Wait a little.")


def _language(progress: queries.Progress) -> LanguageOut:
    row = progress.language
    values: dict[str, Any] = {
        name: getattr(row, name) for name in ("code", "name", "local_name", "right_to_left", "active")
    }
    return LanguageOut(id=row.pk, **values, translated=progress.translated, total=progress.total)
