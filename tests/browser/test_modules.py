"""The modules of the chat page that know no DOM, run in the browser that they are written for."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser

# django_db: the server that hands the modules out needs its database.
pytestmark = [pytest.mark.browser, pytest.mark.django_db, pytest.mark.asyncio(loop_scope="session")]

PROGRESS = {"turns": 1, "hint": "Go on."}
HI = {"position": 0, "speaker": "bot", "text": "Hi!", "counted": False, "key": None}
HELLO = {"position": 1, "speaker": "human", "text": "Hello", "counted": True, "key": "k1"}
SSA = [
    {"key": "sensible", "choices": [], "asked_if": None},
    {"key": "specific", "choices": [], "asked_if": {"question": "sensible", "value": True}},
]


Run = Callable[..., Awaitable[Any]]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def run(browser: Browser, site: str) -> AsyncIterator[Run]:
    """Run a function body with the modules as `m` and one argument."""
    page = await browser.new_page()
    await page.goto(f"{site}/sign-in/")

    async def run(body: str, argument: object = None) -> Any:
        script = """async argument => {
            const modules = await Promise.all(
                ["chat/store", "kit/composer", "kit/outbox", "kit/answers", "kit/subjects", "kit/keys",
                 "kit/attention", "kit/question", "kit/finish", "practice/verdict"].map(
                    name => import(`/static/js/${name}.js`)));
            const m = Object.assign({}, ...modules);
            BODY
        }"""
        return await page.evaluate(script.replace("BODY", body), argument)

    yield run
    await page.close()


RECEIVE = "return argument.reduce(m.receive, m.UNKNOWN)"


async def test_frames_add_up_to_the_dialogue(run: Run) -> None:
    known = await run(RECEIVE, [
        {"type": "state", "turns": [HI], "annotations": [], "fault": None, "progress": PROGRESS,
         "finished": None},
        {"type": "turn_saved", "turn": HELLO, "progress": PROGRESS},
        {"type": "label_saved", "position": 2, "ask": 0, "answers": {"sensible": False},
         "progress": {"turns": 2}},
    ])  # fmt: skip

    assert known["turns"] == [HI, HELLO]
    assert known["labels"] == {"2:0": {"sensible": False}}
    assert known["progress"]["turns"] == 2


async def test_a_repeated_frame_changes_nothing(run: Run) -> None:
    saved = {"type": "turn_saved", "turn": HELLO, "progress": PROGRESS}

    assert await run(RECEIVE, [saved, saved]) == await run(RECEIVE, [saved])


async def test_a_state_replaces_what_was_known(run: Run) -> None:
    known = await run(RECEIVE, [
        {"type": "refused", "reason": "empty", "say": "Write something."},
        {"type": "bot_failed", "fault": {"say": "Broken", "attempts": 1}, "progress": PROGRESS},
        {"type": "state", "turns": [HI], "annotations": [], "fault": None, "progress": PROGRESS,
         "finished": None},
    ])  # fmt: skip

    assert (known["turns"], known["fault"], known["refusal"]) == ([HI], None, None)


@pytest.mark.parametrize("kind", ["news", "constructor", "__proto__"])
async def test_a_frame_of_an_unknown_type_is_ignored(run: Run, kind: str) -> None:
    assert await run("return m.receive(m.UNKNOWN, argument) === m.UNKNOWN", {"type": kind})


async def test_an_answer_drops_the_answers_that_are_no_longer_asked(run: Run) -> None:
    body = "return m.withAnswer(argument, {sensible: true, specific: true}, 'sensible', false)"

    assert await run(body, SSA) == {"sensible": False}


@pytest.mark.parametrize(
    ("answers", "open_question"),
    [({}, "sensible"), ({"sensible": True}, "specific"), ({"sensible": False}, None),
     ({"sensible": True, "specific": False}, None)],
)  # fmt: skip
async def test_the_first_asked_question_without_an_answer_is_open(
    run: Run, answers: dict[str, bool], open_question: str | None
) -> None:
    body = "return m.openQuestion(argument[0], argument[1])?.key ?? null"

    assert await run(body, [SSA, answers]) == open_question


@pytest.mark.parametrize(
    ("captions", "keys"),
    [(["Yes", "No"], ["Y", "N"]), (["Good", "Great", "Poor"], ["1", "2", "3"]), (["1", "2"], ["1", "2"]),
     (["0", "1", "2"], ["0", "1", "2"]), (["9", "10", "11"], ["9", "", ""]),
     (["10", "20"], ["1", "2"]), (["-1", "0", "1"], ["1", "2", "3"])],
)  # fmt: skip
async def test_choices_get_their_first_letter_or_a_digit(
    run: Run, captions: list[str], keys: list[str]
) -> None:
    body = "return m.keysOf(argument.map(label => ({label})))"

    assert await run(body, captions) == keys


async def test_the_sides_of_a_pair_have_one_two_and_nought(run: Run) -> None:
    body = "return m.keysOf(argument.map(value => ({value, label: value})))"

    assert await run(body, ["first", "second", "tied"]) == ["1", "2", "0"]
    assert await run(body, ["first", "second", "tied", "both_bad"]) == ["1", "2", "0", "3"]
    assert await run(body, ["first", "third"]) == ["F", "T"]


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        ({"choices": [{"value": 1, "label": "1", "hint": "low"}, {"value": 2, "label": "2"},
                      {"value": 3, "label": "3", "hint": "high"}]}, "scale"),
        ({"choices": [{"value": True, "label": "Yes"}, {"value": False, "label": "No"}]}, "one"),
        ({"kind": "scale", "low": 1, "high": 3, "low_caption": "low", "high_caption": "high"}, "scale"),
        ({"kind": "several", "choices": [{"value": "a", "label": "A"}]}, "several"),
    ],
)  # fmt: skip
async def test_a_question_is_shown_by_its_kind_or_by_its_choices(
    run: Run, declared: dict[str, Any], kind: str
) -> None:
    question = await run("return m.complete(argument)", declared)

    assert (question["kind"], question["required"]) == (kind, True)
    if kind == "scale":
        assert [choice["value"] for choice in question["choices"]] == [1, 2, 3]
        assert (question["low_caption"], question["high_caption"]) == ("low", "high")


async def test_a_question_may_depend_on_one_of_several_answers(run: Run) -> None:
    asked = [
        {"key": "what", "asked_if": None},
        {"key": "why", "asked_if": {"question": "what", "values": ["odd", "wrong"]}},
    ]
    body = "return argument[1].map(what => m.openQuestion(argument[0], {what})?.key ?? null)"

    answers = ["fine", "odd", ["fine", "wrong"], None]
    assert await run(body, [asked, answers]) == [None, "why", "why", None]


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ({"sensible": True, "specific": False}, "Sensible · Not specific"),
        ({"sensible": False, "specific": False}, "Not sensible"),
    ],
)
async def test_answers_have_a_short_form(run: Run, answers: dict[str, bool], text: str) -> None:
    assert await run("return m.inShort(argument[0], argument[1])", [SSA, answers]) == text


async def test_a_worded_number_has_its_words_in_the_short_form(run: Run) -> None:
    choices = [{"value": 1, "label": "Poor"}, {"value": 2, "label": "2"}]
    body = "return [1, 2].map(quality => m.inShort(argument, {quality}))"

    question = {"key": "quality", "choices": choices, "asked_if": None}
    assert await run(body, [question]) == ["Quality: Poor", "Quality 2"]


@pytest.mark.parametrize(
    ("strokes", "meanings"),
    [
        ([("y", True, 1000)], ["answer"]),
        ([("y", False, 1000)], ["early"]),  # the question has just come up
        ([("y", True, 1000), ("y", True, 1299)], ["answer", "early"]),
        ([("y", True, 1000), ("n", True, 1300)], ["answer", "answer"]),
        ([("Y", True, 1000), ("o", True, 1100)], ["answer", "text Y back"]),
        ([("Y", False, 1000), ("o", False, 1100)], ["early", "text Y"]),
        ([("N", True, 1000), ("y", True, 1100), ("l", True, 1200)], ["answer", "early", "text Ny back"]),
        ([("y", True, 1000), ("o", True, 1400)], ["answer", "text"]),
    ],
)
async def test_keys_in_a_burst_are_text(
    run: Run, strokes: list[tuple[str, bool, int]], meanings: list[str]
) -> None:
    body = """
        const reader = new m.KeyReader();
        return argument.map(([key, mayAnswer, at]) => {
            const isChoice = "yn".includes(key.toLowerCase());
            const {kind, text, takesBack} = reader.read(key, {isChoice, mayAnswer, at});
            return [kind, text, takesBack ? "back" : ""].filter(Boolean).join(" ");
        })"""

    assert await run(body, strokes) == meanings


ASK = """
    const given = [];
    const onAnswer = (key, answer) => given.push(answer);
    const onEarly = () => given.push("early");
    const options = {draft: "", onDraft() {}, describedBy: "", onAnswer, onEarly};
    const view = new m.QuestionView(m.complete(argument), options);
    document.body.append(view.element);
    const buttons = [...view.element.querySelectorAll("button")];
    const press = name => buttons.find(button => button.textContent.includes(name)).click();
    view.show(undefined, true);
"""
LETTERS = [{"value": value, "label": value.upper()} for value in "abc"]
REPORT = "view.element.remove(); return given"


async def test_several_answers_are_given_together(run: Run) -> None:
    body = ASK + """
        ["C", "A", "B", "A"].forEach(press);
        const enter = new KeyboardEvent("keydown", {key: "Enter", cancelable: true});
        view.element.dispatchEvent(enter);
        given.push(enter.defaultPrevented);
    """ + REPORT  # fmt: skip
    question = {"key": "what", "kind": "several", "wording": "What?", "help": "", "choices": LETTERS}

    # The key has no other effect: the message box, which has the focus then, would take a new line.
    assert await run(body, question) == [["b", "c"], True]


@pytest.mark.parametrize(("required", "given"), [(True, [["b"]]), (False, [[], ["b"]])])
async def test_a_required_question_with_several_choices_needs_one(
    run: Run, required: bool, given: list[list[str]]
) -> None:
    body = ASK + """
        press("Done");
        view.element.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
        const done = view.element.querySelector(".question__done");
        const before = done.getAttribute("aria-disabled");
        given.splice(given.length / 2);  // both ways do the same
        press("B");
        press("Done");
        view.element.remove();
        return [given, before, done.getAttribute("aria-disabled")]
    """  # fmt: skip
    question = {
        "key": "what", "kind": "several", "required": required, "wording": "What?", "help": "",
        "choices": LETTERS,
    }  # fmt: skip

    assert await run(body, question) == [given, str(required).lower(), "false"]


@pytest.mark.parametrize("required", [True, False])
async def test_a_text_is_given_by_ctrl_enter_and_an_empty_one_skips(run: Run, required: bool) -> None:
    body = ASK + """
        press("Save");
        view.box.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true}));
        view.box.value = " Because. ";
        view.box.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true}));
    """ + REPORT  # fmt: skip
    question = {"key": "why", "kind": "text", "required": required, "wording": "Why?", "choices": []}

    assert await run(body, question) == (["Because."] if required else [None, "Because."])


@pytest.mark.parametrize(
    ("kind", "labels", "required", "key"),
    [("one", "AB", False, "0"), ("one", "AB", True, None), ("scale", "012", False, None),
     ("one", ["1", "10"], False, None), ("several", "AB", False, None)],
)  # fmt: skip
async def test_nought_skips_an_optional_question_unless_it_is_an_answer(
    run: Run, kind: str, labels: Sequence[str], required: bool, key: str | None
) -> None:
    body = (
        ASK
        + """view.element.remove();
        return view.element.querySelector(".question__skip")?.getAttribute("aria-keyshortcuts") ?? null"""
    )
    choices = [{"value": label, "label": label} for label in labels]
    question = {"key": "q", "kind": kind, "required": required, "wording": "?", "choices": choices}

    assert await run(body, question) == key


async def test_digits_of_other_scripts_count_as_those_on_the_buttons(run: Run) -> None:
    assert await run("return argument.map(m.onButtons)", [*"y7٢۲२é"]) == ["Y", "7", "2", "2", "2", "É"]


async def test_an_optional_question_can_be_skipped(run: Run) -> None:
    question = {"key": "what", "required": False, "wording": "What?", "help": "", "choices": LETTERS}

    assert await run(ASK + "press('Skip');" + REPORT, question) == [None]


async def test_the_reason_of_a_refused_finish_stays_until_the_next_key(run: Run) -> None:
    """Frames from the server draw the page again at any time, with the hint that the work has then."""
    body = """
        for (const id of ["finish", "finish-near"]) {
            document.body.append(Object.assign(document.createElement("button"), { id }));
        }
        let finished = 0;
        const finish = new m.Finish({ onFinish: () => (finished += 1), onRefused: () => {} });
        finish.show("Judge what is left.", false);
        const before = finish.hintOr("Read it.");
        finish.far.click();
        const refused = finish.hintOr("Read it.");
        finish.show("Your answer is being saved.", false);
        const later = finish.hintOr("Read it.");
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
        const after = finish.hintOr("Read it.");
        finish.show("", true);
        finish.near.click();
        const allowed = finish.hintOr("Read it.");
        for (const button of [finish.far, finish.near]) button.remove();
        return [before, refused, later, after, allowed, finished];
    """  # fmt: skip

    assert await run(body) == [
        "Read it.", "Judge what is left.", "Your answer is being saved.", "Read it.", "Read it.", 1
    ]  # fmt: skip


async def test_a_question_that_has_just_come_up_takes_no_answer(run: Run) -> None:
    question = {"key": "what", "wording": "What?", "help": "", "choices": LETTERS}

    assert await run(ASK + "view.show(undefined, false); press('A');" + REPORT, question) == ["early"]


async def test_a_scale_says_its_ends(run: Run) -> None:
    body = ASK + """
        press("5");
        const names = buttons.map(button => button.textContent);
        view.element.remove();
        return [given, names]
    """  # fmt: skip
    question = {
        "key": "good", "kind": "scale", "wording": "How good?", "help": "", "low": 1, "high": 5,
        "low_caption": "bad", "high_caption": "good",
    }  # fmt: skip

    assert await run(body, question) == [[5], ["1 bad", "2", "3", "4", "5 good"]]


OUTBOX = """
    const label = (subject, answers) => ({type: "label", ...m.partsOf(subject), answers});
    const box = new m.Outbox(localStorage, "d1", label); box.forget();
"""


async def test_the_outbox_sends_again_what_was_not_acknowledged(run: Run) -> None:
    body = (
        OUTBOX
        + """
        box.holdTurn("k1", "Hello");
        box.holdLabel("2:0", {sensible: true, specific: true}, {shown_ms: 900, answer_ms: 1200});
        box.holdLabel("4:0", {sensible: false});
        box.settle({type: "label_saved", position: 4, ask: 0, answers: {sensible: false, specific: false}});
        box.settle({type: "label_saved", position: 2, ask: 0, answers: {sensible: false, specific: false}});
        return new m.Outbox(localStorage, "d1", label).frames()"""
    )

    assert await run(body) == [
        {
            "type": "label",
            "position": 2,
            "ask": 0,
            "answers": {"sensible": True, "specific": True},
            "timing": {"shown_ms": 900, "answer_ms": 1200},
        },
        {"type": "turn", "key": "k1", "text": "Hello"},
    ]


async def test_the_outbox_drops_what_the_state_contains(run: Run) -> None:
    body = (
        OUTBOX
        + """
        box.holdTurn("k1", "Hello"); box.holdLabel("2:0", {sensible: false});
        const annotations = [{position: 2, ask: 0, answers: {sensible: false, specific: false}}];
        box.settle({type: "state", turns: argument, annotations, finished: null});
        return box.isEmpty"""
    )

    assert await run(body, [HI, HELLO])


async def test_a_refused_message_goes_back_into_the_draft(run: Run) -> None:
    body = (
        OUTBOX
        + """
        box.holdTurn("k1", "Refused"); box.keepDraft("Begun since");
        box.settle({type: "refused", reason: "not_your_turn", say: "Wait.", key: "k1"});
        return box.held"""
    )

    assert await run(body) == {
        "drafts": {"": "Refused\nBegun since"}, "turn": None, "labels": {}, "timings": {}, "begun": {},
    }  # fmt: skip


async def test_a_newer_text_stays_until_it_is_saved_itself(run: Run) -> None:
    body = (
        OUTBOX
        + """
        box.keepDraft("Half", "c1"); box.keepDraft("Other", "c2"); box.keepDraft("", "c1");
        box.holdLabel("c1", {text: "Second"});
        box.settle({type: "written", item: "c1", text: "First", items: [], progress: {}});
        const held = box.isEmpty;
        box.settle({type: "state", written: [{key: "c1", text: "Second"}], items: [], finished: null});
        return [held, box.isEmpty, box.draftOf("c1"), box.draftOf("c2")]"""
    )

    assert await run(body) == [False, True, "", "Other"]


async def test_characters_are_counted_as_the_server_counts_them(run: Run) -> None:
    text = "é😀👩‍👩‍👧"

    assert await run("return m.lengthOf(argument)", text) == len(text)


async def test_an_answer_agrees_with_the_authors_if_it_is_the_same_or_near_on_a_scale(run: Run) -> None:
    questions = [
        {"key": "good", "kind": "scale", "choices": []},
        {"key": "bad", "kind": "scale", "choices": []},
        {"key": "about", "kind": "several",
         "choices": [{"value": "a", "label": "Art"}, {"value": "b", "label": "Food"}]},
        {"key": "why", "kind": "text", "choices": []},
        {"key": "skipped", "kind": "one", "choices": []},
    ]  # fmt: skip
    own = {"good": 5, "bad": 4, "about": ["b"], "why": "mine", "skipped": None}
    author = {"good": 6, "bad": 6, "about": ["a", "b"], "why": "theirs", "skipped": True}

    found = await run("return m.verdicts(...argument)", [questions, own, author])

    assert [(each["own"], each["author"], each["agrees"]) for each in found] == [
        ("5", "6", True), ("4", "6", False), ("Food", "Art, Food", False), ("mine", "theirs", True),
    ]  # fmt: skip


SLOWLY = """return new Promise(resolve => {
    const attention = new m.Attention(() => {
        const mayPress = attention.mayPress;
        for (const until = performance.now() + 400; performance.now() < until; );  // a page that draws slowly
        if (mayPress) resolve("counts");
    });
    attention.ask("reply", "sensible");
    setTimeout(() => {
        attention.meet("reply", argument.length);
        attention.read("reply");
    }, argument.metAfter);
    setTimeout(resolve, 10_000, "never counts");
})"""


@pytest.mark.parametrize("met_after", [0, 1000])
async def test_keys_begin_to_count_though_the_page_is_slow_or_the_text_comes_late(
    run: Run, met_after: int
) -> None:
    assert await run(SLOWLY, {"length": 10, "metAfter": met_after}) == "counts"
