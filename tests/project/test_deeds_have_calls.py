"""What people do on a page, programs do by a call, but for what a person must do."""

import pytest

from tests.project.test_access import ADMIN, OURS, OWNER, SIGNED_IN, methods_of
from turnwise.accounts.audit_actions import AUDIT_ACTIONS
from turnwise.project.api import api
from turnwise.project.rest.description import operations

# A stolen token must not reach them (docs/api.md).
OF_ACCOUNTS = {"accounts", "account", "mfa", "usersessions", "socialaccount", "openid", "saml"}
BY_A_PERSON = {
    "bots:add_small_model": "It fetches a file onto the server; the bot is then one like any other.",
    "bots:try_reply": "Looks at a reply; POST /api/bots/NAME/reply asks a bot.",
    "conversation:preview_upload": "A picture of a preview is kept for an hour and belongs to no study.",
    "studies:hand_over": "Transfers of each study of a person who left, by an admin.",
    "questions:preview": "Shows a declaration while it is written.",
    "webhooks:mail_choice": "Mails of one's own account.",
    **dict.fromkeys(
        [
            "transcripts:begin_relay", "transcripts:relay_turn", "transcripts:relay_correct",
            "transcripts:relay_finish", "transcripts:relay_discard",
        ],
        "A person types a conversation in; programs import it.",
    ),
}  # fmt: skip
# Where page and call have different words in the audit log, mostly as one button is several calls.
CALLS = {
    "acceptance:decide": ["decide_about_dialogue", "reward_dialogue"],
    "acceptance:limits": ["change_review_limits"],
    "audits:judge": ["judge_audit"],
    "bots:budget": ["set_bot_budget"],
    "bots:prices": ["add_bot_price"],
    "bots:set_active": ["change"],
    "bots:watch": ["watch_bot"],
    "comparisons:judge_sweep": ["judge_sweep"],
    "contexts:import": ["import_context_version"],
    "contexts:load_open_mtb": ["load_shipped_contexts"],
    "contexts:new": ["import_contexts"],
    "contexts:preview": ["import_contexts", "import_context_version"],
    "contexts:subset": ["draw_contexts"],
    "crowd:act": ["act_on_participants", "pay_some"],
    "crowd:change_pay": ["give_bonuses", "reverse_claim"],
    "crowd:end": ["end_participation"],
    "crowd:exclude": ["exclude_participant", "include_participant"],
    "crowd:go_on": ["end_pilot"],
    "crowd:panels": ["change_panels"],
    "crowd:pay_chosen": ["pay_some", "give_bonuses"],
    "crowd:prolific_bonuses": ["request_prolific_bonuses"],
    "crowd:prolific_settle": ["settle_prolific_request"],
    "crowd:prolific_steer": ["steer_prolific", "set_prolific_places"],
    "crowd:write": ["write_to_participant"],
    "experts:change": ["change_expert", "replace_expert_link", "revoke_expert", "erase_expert"],
    "groups:change_member": ["change_member", "remove_member"],
    "groups:leave": ["remove_member"],
    "judges:import": ["import_judge_labels"],
    "judges:remove": ["remove_judge"],
    "judging:battery": ["change_battery", "delete_battery"],
    "judging:exclude_rater": ["exclude_participant", "include_participant"],
    "judging:gold": ["change_judging_plan", "declare_gold"],
    "judging:item_gold": ["declare_gold", "undeclare_gold"],
    "judging:put_back": ["keep_out"],
    "judging:queue": ["change_judging_plan"],
    "judging:take_out": ["keep_out"],
    "knowledge:import": ["import_knowledge_version"],
    "knowledge:load_shipped": ["load_shipped_knowledge"],
    "knowledge:new": ["import_knowledge"],
    "knowledge:share": ["share_knowledge"],
    "labels:exclude": ["exclude_participant", "include_participant"],
    "languages:language": ["save_language_texts"],
    "languages:settings": ["change_language"],
    "languages:upload": ["save_language_texts"],
    "privacy:withdraw_for": ["erase_participant"],
    "quality:checks": ["add_attention_check", "remove_attention_check"],
    "quality:limits": ["change_flag_limits"],
    "quality:remove_message": ["remove_saved_message"],
    "quality:require": ["require_qualification"],
    "questions:archive": ["change_set"],
    "questions:import": ["create"],
    "questions:import_version": ["add_version"],
    "questions:share": ["change_set"],
    "responses:cancel": ["cancel_run"],
    "responses:retry": ["retry_run"],
    "responses:upload": ["import_responses"],
    "studies:archive": ["archive", "restore"],
    "studies:change_share": ["share", "stop_sharing", "share_with_group", "stop_sharing_with_group"],
    "studies:opening": ["greet_bots"],
    "studies:set_state": ["open_for_workers", "close"],
    "transcripts:import_columns": ["read_import_as"],
    "transcripts:import_format": ["read_import_as"],
    "transcripts:import_undo": ["undo_import"],
    "transcripts:upload": ["upload_conversations"],
    "webhooks:set_active": ["change_webhook"],
}
DEEDS = sorted(
    page.name
    for page in OURS
    if page.rule in (SIGNED_IN, OWNER, ADMIN)
    and "POST" in methods_of(page.pattern.callback)
    and page.name.partition(":")[0].partition("_")[0] not in OF_ACCOUNTS
)
CHANGING = {op.view_func.__name__ for (_, method), op in operations(api).items() if method != "GET"}


@pytest.mark.parametrize("deed", DEEDS)
def test_every_deed_of_a_page_has_a_call_or_is_for_a_person(deed: str) -> None:
    words = AUDIT_ACTIONS.get(deed)
    same_words = {
        name.removeprefix("api-1:")
        for name, each in AUDIT_ACTIONS.items()
        if name.startswith("api-1:") and words is not None and str(each) == str(words)
    }
    calls = {*CALLS.get(deed, ()), *same_words & CHANGING}

    assert calls or deed in BY_A_PERSON
    assert calls <= CHANGING
    assert not (calls and deed in BY_A_PERSON)


def test_no_call_is_named_for_a_page_that_is_gone() -> None:
    assert CALLS.keys() <= {*DEEDS}
