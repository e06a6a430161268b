"""What the lists of the question editor are called."""

from django.utils.translation import gettext_lazy

KINDS = {
    "one": gettext_lazy("One of a list"),
    "scale": gettext_lazy("A scale with two ends"),
    "several": gettext_lazy("Any of a list"),
    "text": gettext_lazy("Free text"),
}
STORED = {
    "names": gettext_lazy("words: the caption, or what you write beside it"),
    "numbers": gettext_lazy("numbers in an order, which have a mean"),
    "yes_no": gettext_lazy("yes and no"),
}
COMBINED = {"mean": gettext_lazy("their mean"), "sum": gettext_lazy("their sum")}
