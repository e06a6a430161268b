"""Pages shared by versioned sets: choose a file, preview it, and import it as a version."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import reads_a_file, too_many, too_often
from turnwise.contexts import uploads
from turnwise.contexts.versioned import S, Text, V, editable, save

SHOWN = 50
"""Number of findings and rows in a preview."""


class Content(Protocol):
    """A parsed file."""

    @property
    def may_be_imported(self) -> bool: ...
    @property
    def problems(self) -> Sequence[object]: ...
    @property
    def notes(self) -> Sequence[object]: ...


C = TypeVar("C", bound=Content)


class VersionedSetForm(forms.ModelForm[S]):
    """Title, name, licence and description of a set."""

    name_taken: ClassVar[Text]
    """Message if the owner has another set of this name."""

    class Meta:
        fields = ("title", "name", "licence", "description")
        widgets: ClassVar[dict[str, forms.Widget]] = {"description": forms.Textarea({"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = self.fields["name"]
        name.required = False
        name.help_text = f"{name.help_text} {_('Empty: it is made from the title.')}"

    def clean_name(self) -> str:
        """Return the name; an empty one is made from the title, with a number if that is taken."""
        name: str = self.cleaned_data["name"]
        sets = type(self.instance)._default_manager
        if not name:
            taken = set(sets.filter(owner=self.instance.owner).values_list("name", flat=True))
            made = slugify(self.cleaned_data.get("title", ""))[:50].strip("-_") or "set"
            numbered = (f"{made}-{number}" for number in count(2))
            return next(each for each in chain([made], numbered) if each not in taken)
        if sets.filter(owner=self.instance.owner, name=name).exists():
            raise ValidationError(self.name_taken % {"name": name})
        return name


class ImportPages(ABC, Generic[S, V, C]):
    """The pages `new`, `import` and `preview` of one kind of set.

    Attributes:
        namespace: namespace of the addresses and templates.
        listing: URL name of the page with all sets.
        heading: heading of the page for a new set.
        shape: fingerprint of the stored upload, from `turnwise.live.subprocesses`.
        model: model of the set.
        form: form of a new set.
        file_form: form with the file, for `read`.
    """

    namespace: str
    listing: str
    heading: Text
    shape: str
    model: type[S]
    form: type[VersionedSetForm[S]]
    file_form: type[forms.Form]

    @abstractmethod
    def read(self, submitted: Mapping[str, Any]) -> dict[str, Any]:
        """Content of the submitted file in plain values, parsed by another process."""

    @abstractmethod
    def content_of(self, values: dict[str, Any]) -> C:
        """Content rebuilt from the values of `read`."""

    @abstractmethod
    def details(self, versioned: S, content: C) -> dict[str, Any]:
        """Template context of the preview besides problems and notes."""

    @abstractmethod
    def store(self, versioned: S, content: C, *, origin: str) -> V:
        """Store the content as the next version.

        Raises:
            ValidationError: it cannot be stored.
        """

    @abstractmethod
    def success(self, version: V) -> str:
        """Message after the import of a version."""

    def after_refusal(self, token: str) -> HttpResponse:
        """Response that shows the reason if the content could not be stored."""
        return redirect(f"{self.namespace}:preview", token=token)

    # --- pages -------------------------------------------------------------------------------------

    def new(self, request: AuthenticatedHttpRequest) -> HttpResponse:
        """Import a new set with its first version: first its name and a file, then the preview."""
        form = self.form(request.POST or None, instance=self.model(owner=request.user))
        return self._choose_file(request, form, None)

    def import_version(self, request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
        """Import a new version of a set: first a file, then the preview."""
        return self._choose_file(request, None, get_object_or_404(editable(request.user, self.model), pk=pk))

    def preview(self, request: AuthenticatedHttpRequest, token: str) -> HttpResponse:
        """Preview the content of a file; by POST, import it."""
        upload = uploads.get_upload(request.user.pk, token, of=self.kind_of_upload)
        if upload is None:
            return uploads.redirect_expired(request, token, self.listing)
        sets = editable(request.user, self.model)
        existing = get_object_or_404(sets, pk=upload["set"]) if upload["set"] else None
        versioned = existing or self.model(owner=request.user, **upload["fields"])
        content = self.content_of(upload["content"])
        if request.method == "POST" and content.may_be_imported:
            return self._import(request, token, versioned, content, upload["origin"])
        return self._show(request, versioned, content, upload["origin"])

    # --- steps of the pages ------------------------------------------------------------------------

    @property
    def kind_of_upload(self) -> str:
        return f"import {self.namespace} {self.shape}"

    def _choose_file(
        self, request: AuthenticatedHttpRequest, form: VersionedSetForm[S] | None, versioned: S | None
    ) -> HttpResponse:
        file_form = self.file_form(request.POST or None, request.FILES or None)
        if request.method == "POST":
            if too_often(request, "upload", rate="30/m", key="user"):
                return too_many(request)
            if file_form.is_valid() & (form is None or form.is_valid()):
                about = {
                    "set": versioned.pk if versioned else None,
                    "fields": form.cleaned_data if form else {},
                }
                return _read(request, self, file_form.cleaned_data, about)
        new_version = _("New version of %(title)s")
        context = {
            "form": form,
            "file_form": file_form,
            "set": versioned,
            "listing": self.listing,
            "heading": new_version % {"title": versioned.title} if versioned else self.heading,
        }
        status = 422 if request.method == "POST" else 200
        return render(request, f"{self.namespace}/new.html", context, status=status)

    def _show(self, request: HttpRequest, versioned: S, content: C, origin: str) -> HttpResponse:
        space, key = self.namespace, versioned.pk
        choose_at = reverse(f"{space}:import", args=[key]) if key else reverse(f"{space}:new")
        context = {
            "set": versioned,
            "content": content,
            "problems": content.problems[:SHOWN],
            "notes": content.notes[:SHOWN],
            "origin": origin,
            "choose_at": choose_at,
            **self.details(versioned, content),
        }
        status = 200 if content.may_be_imported else 422
        return render(request, f"{self.namespace}/preview.html", context, status=status)

    def _import(
        self, request: AuthenticatedHttpRequest, token: str, versioned: S, content: C, origin: str
    ) -> HttpResponse:
        try:
            with transaction.atomic():
                saved = versioned if versioned.pk else save(versioned)
                version = self.store(saved, content, origin=origin)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return self.after_refusal(token)
        uploads.delete_upload(request.user.pk, token)
        uploads.record_import(token, version.get_absolute_url())
        messages.success(request, self.success(version))
        return redirect(version)


@reads_a_file
def _read(
    request: AuthenticatedHttpRequest,
    pages: ImportPages[Any, Any, Any],
    values: Mapping[str, Any],
    about: Mapping[str, Any],
) -> HttpResponse:
    upload = {**about, "origin": values["file"]["origin"], "content": pages.read(values)}
    token = uploads.store_upload(request.user.pk, upload, of=pages.kind_of_upload)
    return redirect(f"{pages.namespace}:preview", token=token)
