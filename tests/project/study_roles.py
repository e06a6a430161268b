"""Permissions that the pages and calls of a study need, by name; `test_access` asks them as every role."""

from turnwise.studies.sharing.permissions import Permission

TO_SEE: dict[str, Permission] = {
    **dict.fromkeys(
        (
            "api-1:dialogues", "api-1:study_file", "api-1:study_files", "api-1:labels", "api-1:report",
            "api-1:turns", "api-1:compare_second_group",
            "dialogues:staff_picture", "exports:dataset.zip", "exports:chat_ratings.csv",
            "exports:chatrecords.csv", "exports:openai.jsonl", "exports:preferences.jsonl",
            "exports:inspect_logs.zip", "exports:sharegpt.jsonl", "exports:turn_table.csv",
            "exports:turn_table.xlsx", "exports:conversations.json",
            "exports:reading_sets.json",
            "exports:turns.csv", "exports:turns.jsonl", "judging:item", "judging:items", "judging:make_pack",
            "judging_task:both_groups", "judging_task:both_groups_csv", "judging_task:context",
            "judging_task:context_file", "judging_task:contexts", "labels:dialogues",
            "labels:transcript", "reports:stamp", "reports:study", "workspace:overview",
        ),
        Permission.READ,
    ),
    **dict.fromkeys(
        (
            "api-1:attention_checks", "api-1:disputed_item", "api-1:disputed_items",
            "api-1:flag_limits", "api-1:flags", "api-1:judge_checks", "api-1:judges", "api-1:list_decisions",
            "api-1:one_judge", "api-1:study_plan", "api-1:requirement",
            "crowd:preview", "crowd:preview_page", "experts:item", "experts:items",
            "judges:export", "judges:judges", "judges:run", "judges:stamp", "monitoring:monitor",
            "quality:decisions_csv",
            "quality:history", "quality:study", "questionnaires:preview",
            "studies:plan_file", "studies:preregistration",
        ),
        Permission.REVIEW,
    ),
    **dict.fromkeys(
        (
            "api-1:bundle_state", "api-1:table_file", "api-1:tables", "exports:bundle",
            "exports:bundle_file", "exports:bundle_stamp",
        ),
        Permission.BUNDLE,
    ),
    **dict.fromkeys(
        (
            "api-1:payments", "crowd:payment_file", "crowd:payments", "quality:panel_file",
        ),
        Permission.PAY,
    ),
    **dict.fromkeys(
        (
            "api-1:publications", "api-1:shares", "api-1:study_transfers", "publications:publish",
            "studies:sharing",
            "studies:transfer",
        ),
        Permission.SHARE,
    ),
}  # fmt: skip
"""To see the page; what is not named here needs `Permission.CHANGE`."""

TO_SEND: dict[str, Permission] = {
    **dict.fromkeys(("api-1:make_anchor_pack", "judging:make_pack"), Permission.READ),
    **dict.fromkeys(
        (
            "api-1:decide_about_item", "api-1:undo_decision", "api-1:undo_item_decision",
            "conversation:preview_upload", "experts:item", "quality:decide",
            "quality:undo",
        ),
        Permission.REVIEW,
    ),
    **dict.fromkeys(
        (
            "api-1:request_bundle", "exports:make_bundle",
        ),
        Permission.BUNDLE,
    ),
    **dict.fromkeys(
        (
            "api-1:request_prolific_bonuses",
            "crowd:change_pay", "crowd:pay", "crowd:pay_chosen", "crowd:prolific_bonuses",
            "crowd:prolific_settle",
        ),
        Permission.PAY,
    ),
    **dict.fromkeys(
        (
            "api-1:list_publication", "api-1:preview_publication", "api-1:publish_report",
            "api-1:revoke_publication", "api-1:stop_sharing", "api-1:stop_sharing_with_group",
            "api-1:withdraw_transfer",
            "publications:change_listing", "publications:publish", "publications:revoke",
            "studies:change_share", "studies:offer_transfer", "studies:sharing",
            "studies:withdraw_transfer",
        ),
        Permission.SHARE,
    ),
}  # fmt: skip
"""To send its form, or to call with another method than GET; else `Permission.CHANGE`."""
