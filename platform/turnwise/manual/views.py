from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from turnwise.manual import pages


@require_GET
def index(request: HttpRequest) -> HttpResponse:
    """Contents of the manual, or passages with all the words of `find`."""
    words = request.GET.get("find", "")[: pages.LONGEST_SEARCH].strip()
    context = {
        "sections": pages.sections(),
        "words": words,
        "found": pages.find(words),
        "most": pages.MOST_FOUND,
    }
    return render(request, "manual/index.html", context)


@require_GET
def page(request: HttpRequest, name: str) -> HttpResponse:
    try:
        shown = pages.page(name)
    except KeyError:
        raise Http404(f"The manual has no page “{name}”.") from None
    return render(request, "manual/page.html", {"page": shown})


@require_GET
def picture(request: HttpRequest, name: str) -> FileResponse:
    path = pages.PICTURES / name
    if path not in pages.PICTURES.iterdir():
        raise Http404(f"The manual has no picture “{name}”.")
    return FileResponse(path.open("rb"))
