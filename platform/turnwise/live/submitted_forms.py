"""Forms of pages, filled by the REST API: the same fields, checks and messages as on the page."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django import forms

from turnwise.live.problems import InvalidFieldsError

F = TypeVar("F", bound=forms.BaseForm)
_SEVERAL = (forms.MultipleChoiceField, forms.ModelMultipleChoiceField)
FIXED = "This can no longer be changed. Leave it out."


def initial_values(form: forms.BaseForm) -> dict[str, Any]:
    """Values of an empty form, as its page shows them, by field."""
    return {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}


def merged_values(
    form: forms.BaseForm, sent: Mapping[str, Any], *, absent: str, fixed: str = FIXED, prefix: str = ""
) -> dict[str, Any]:
    """Build what a page would submit: the sent values in place of the initial ones.

    Args:
        form: the empty form.
        sent: values by field.
        absent: message about a value for which the form has no field; `%(name)s` stands for its name.
        fixed: message about a changed value of a disabled field.
        prefix: stands before the names of fields in errors.

    Raises:
        InvalidFieldsError: a field is absent or fixed.
    """
    initial, wrong = initial_values(form), dict[str, list[str]]()
    for name, value in sent.items():
        field = form.fields.get(name)
        if field is None:
            wrong[f"{prefix}{name}"] = [absent % {"name": name}]
        elif field.disabled and _submitted(field, value) != _submitted(field, initial[name]):
            wrong[f"{prefix}{name}"] = [fixed]
    if wrong:
        raise InvalidFieldsError(wrong)
    values = {**initial, **sent}
    return {name: _submitted(field, values[name]) for name, field in form.fields.items()}


def filled_form(
    make: Callable[[Mapping[str, Any] | None], F],
    sent: Mapping[str, Any],
    *,
    fixed: str = FIXED,
    prefix: str = "",
) -> F:
    """Fill a page's form, and check it.

    Args:
        make: makes the form with given data; None: the empty form.
        sent: values by field; others stay as the page shows them.
        fixed: message about a changed value of a disabled field.
        prefix: stands before the names of fields in errors.

    Raises:
        InvalidFieldsError: by field, what is wrong.
    """
    absent = "There is no field “%(name)s” here. Leave it out."
    form = make(merged_values(make(None), sent, absent=absent, fixed=fixed, prefix=prefix))
    refuse_invalid(form, prefix)
    return form


def refuse_invalid(form: forms.BaseForm, prefix: str = "") -> None:
    """Raise the errors of an invalid form; `prefix` stands before the names of its fields.

    Raises:
        InvalidFieldsError: the form is invalid.
    """
    if form.is_valid():
        return
    raise InvalidFieldsError(
        {
            "" if name == "__all__" else f"{prefix}{name}": [str(each) for each in says]
            for name, says in form.errors.items()
        }
    )


def _submitted(field: forms.Field, value: Any) -> Any:
    """Value as a page submits it: a list as text, unless there is a box to tick for each; nothing as ""."""
    value = field.prepare_value(value)
    if isinstance(value, (list, tuple)) and not isinstance(field, _SEVERAL):
        return ", ".join(map(str, value))
    return "" if value is None else value
