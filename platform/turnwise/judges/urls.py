from django.urls import path, re_path

from turnwise.judges import views
from turnwise.judges.item_draws import views as item_draw_views
from turnwise.judges.label_imports import views as import_views

app_name = "judges"
_RUN = "studies/<int:pk>/judges/<int:run_id>"
urlpatterns = [
    path("studies/<int:pk>/judges/", views.judges, name="judges"),
    path("studies/<int:pk>/judges/start/", views.start, name="start"),
    path("studies/<int:pk>/judges/draws/", item_draw_views.draws, name="draws"),
    path("studies/<int:pk>/judges/draws/make/", item_draw_views.draw, name="draw"),
    path("studies/<int:pk>/judges/draws/further/", item_draw_views.draw_further, name="draw_further"),
    path("studies/<int:pk>/judges/draws/undo/", item_draw_views.undo_draw, name="undo_draw"),
    path("studies/<int:pk>/judges/panel/", views.form_panel, name="form_panel"),
    path("studies/<int:pk>/judges/import/", import_views.choose_file, name="import"),
    path("studies/<int:pk>/judges/import/<str:token>/", import_views.preview_import, name="preview_import"),
    path("studies/<int:pk>/judges/items-<int:number>.jsonl", import_views.items_file, name="items_file"),
    path(f"{_RUN}/", views.run, name="run"),
    path(f"{_RUN}/stamp/", views.stamp, name="stamp"),
    path(f"{_RUN}/cancel/", views.cancel, name="cancel"),
    path(f"{_RUN}/continue/", views.go_on, name="go_on"),
    path(f"{_RUN}/budget/", views.set_budget, name="set_budget"),
    path(f"{_RUN}/watch/", views.watch, name="watch"),
    path(f"{_RUN}/remove/", views.remove, name="remove"),
    re_path(
        r"^studies/(?P<pk>[0-9]+)/judges/(?P<run_id>[0-9]+)/labels\.(?P<ending>csv|jsonl)$",
        views.export,
        name="export",
    ),
]
