from django.urls import path

from turnwise.judging import battery_views, views
from turnwise.judging.anchors import anchor_views
from turnwise.judging.gold import gold_views
from turnwise.judging.items import removal_views
from turnwise.judging.readers import reader_views

app_name = "judging"
urlpatterns = [
    path("studies/<int:pk>/queue/", views.queue, name="queue"),
    path("studies/<int:pk>/queue/add/", views.add, name="add"),
    path("studies/<int:pk>/queue/foreseen/", views.estimate, name="foreseen"),
    path("studies/<int:pk>/queue/out/", removal_views.take_out, name="take_out"),
    path("studies/<int:pk>/queue/back/", removal_views.put_back, name="put_back"),
    path("studies/<int:pk>/queue/battery/", battery_views.battery, name="battery"),
    path("studies/<int:pk>/queue/gold/", gold_views.gold_page, name="gold"),
    path("studies/<int:pk>/queue/anchors/", anchor_views.anchors, name="anchors"),
    path("studies/<int:pk>/queue/anchors/out/", anchor_views.remove_anchors, name="remove_anchors"),
    path("studies/<int:pk>/anchor-pack/", anchor_views.make_pack, name="make_pack"),
    path("anchors/", anchor_views.pack_list, name="packs"),
    path("anchors/<int:pack>/", anchor_views.pack_page, name="pack"),
    path("anchors/<int:pack>/anchors.jsonl", anchor_views.pack_file, name="pack_file"),
    path("anchors/<int:pack>/anchors.csv", anchor_views.pack_csv, name="pack_csv"),
    path("anchors/<int:pack>/rename/", anchor_views.rename, name="rename_pack"),
    path("anchors/<int:pack>/delete/", anchor_views.delete, name="delete_pack"),
    path("studies/<int:pk>/queue/items.csv", gold_views.items_csv, name="items_csv"),
    path("studies/<int:pk>/items/<uuid:key>/gold/", gold_views.item_gold, name="item_gold"),
    path("studies/<int:pk>/items/", views.items, name="items"),
    path("studies/<int:pk>/items/act/", removal_views.act_on_items, name="act_on_items"),
    path("studies/<int:pk>/items/<uuid:key>/", views.item, name="item"),
    path("studies/<int:pk>/items/<uuid:key>/exclude/", views.exclude, name="exclude_rater"),
    path("studies/<int:pk>/readers/", reader_views.readers, name="readers"),
    path("studies/<int:pk>/readers/compare/", reader_views.compare_readers, name="compare_readers"),
    path("bots/<slug:name>/judged/", reader_views.bot_judgments, name="bot"),
]
