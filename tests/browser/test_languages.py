"""A worker who reads no English: nothing on the way from the link to the code is English."""

import re

import pytest
from asgiref.sync import sync_to_async
from django.utils.translation import ngettext, override
from playwright.async_api import expect

from tests.browser.conftest import Visit, Visitor
from tests.conftest import MakeStudy
from turnwise.crowd.entry import practice
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.studies.asks import About, AskSpec, Moment

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PHONE = {"viewport": {"width": 390, "height": 780}, "has_touch": True}
# What is written so in every language.
NAMES = re.compile(r"\b(Turnwise|Esc|Enter|Shift|Tab|USD|Bach|lab@example\.org)\b")

# Six kinds of number have words of their own.
NUMBERS = [0, 1, 2, 3, 10, 11, 25, 99, 100, 101, 102, 103, 111, 200, 1000]
GO_ON = [
    "Keep talking: %(n)s more reply, then finish.",
    "Keep talking: %(n)s more replies, then finish.",
]
IN_SCRIPT = """async ([words, numbers]) => {
    const { ngettext } = await import("/static/js/kit/gettext.js");
    return numbers.map(n => ngettext(...words, n));
}"""


async def english(visitor: Visitor, code: str) -> list[str]:
    """Words in Latin letters that somebody sees or hears on the page, but for their own code."""
    said = await visitor.page.evaluate(
        """() => [document.title, document.body.innerText,
            ...[...document.querySelectorAll("[aria-label], [placeholder], [title]")].flatMap(
                each => [each.ariaLabel, each.placeholder, each.title])].join("\\n")"""
    )
    return re.findall(r"[A-Za-z]{2,}", NAMES.sub("", said.replace(code, "")))


async def test_a_worker_in_arabic_on_a_phone(visit: Visit, make_study: MakeStudy) -> None:
    study = await sync_to_async(make_study)(
        script={"replies": ["نعم، أستمع إلى Bach كثيرًا!", "هذا جميل."]}, languages=["ar"],
        title="دراسة عن الدردشة",
        opening_text="مرحبًا!", practice=True, pay_amount="2.50", min_turns=2, max_turns=6,
        contact="lab@example.org",
        asks=[
            AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
            AskSpec("likert", About.DIALOGUE, Moment.AT_END),
        ],
    )  # fmt: skip
    await study.consent_versions.aupdate(text="ستتحدث مع آلة.")
    layla = await visit(**PHONE)
    page = layla.page

    await layla.go(study.get_entry_url())
    await expect(page.locator("html[dir=rtl][lang=ar]")).to_be_attached()
    await seen(layla)
    await page.get_by_label("أوافق على المشاركة").check()
    await page.get_by_role("button", name="تابع إلى التعليمات").click()
    await seen(layla, is_new_kind=False)

    await page.get_by_role("link", name="جرّب الأسئلة").click()
    await seen(layla, is_new_kind=False)
    await layla.answer("لا")
    await expect(page.get_by_text("واضع المثال يجيب بغير ذلك")).to_be_visible()
    await seen(layla)
    participation = await Participation.objects.select_related("worker").aget()
    await sync_to_async(practice._note)(participation.worker, ["ssa", "likert"])
    await page.reload()
    await page.get_by_role("button", name="تخطٍّ").click()

    await expect(layla.bubbles).to_have_text(["مرحبًا!"])
    await layla.ready()
    await page.locator("#message").fill("مرحبًا، هل تحب الموسيقى؟")
    await page.locator("#send").click()
    await expect(layla.bubbles).to_have_count(3)
    await seen(layla, is_new_kind=False)
    await layla.answer("نعم", "لا")
    await expect(layla.chip(1)).to_have_text("هل هو معقول؟ نعم · هل هو محدد؟ لا تغيير")
    with override("ar"):
        in_python = [ngettext(GO_ON[0], GO_ON[1], n) % {"n": n} for n in NUMBERS]
    assert await page.evaluate(IN_SCRIPT, [GO_ON, NUMBERS]) == in_python
    await seen(layla, is_new_kind=False)
    await page.locator("#finish").or_(page.locator("#finish-near")).locator("visible=true").click()
    scale = layla.open_question.get_by_role("button", name="6")
    first = await layla.open_question.get_by_role("button", name="1").bounding_box()
    last = await layla.open_question.get_by_role("button", name="7").bounding_box()
    assert first
    assert last
    assert first["x"] > last["x"]  # a scale begins where one begins to read
    await seen(layla)
    for _ in range(5):
        await scale.click()
    await layla.keys_count()
    await page.get_by_role("button", name="تخطٍّ").click()
    await expect(page.locator("#confirm")).to_be_visible()
    await seen(layla, is_new_kind=False)
    await page.locator("#confirm-yes").click()

    await expect(page.get_by_role("heading", name="شكرًا لك")).to_be_visible()
    await expect(page.get_by_label("رمز الإكمال")).to_be_visible()
    await seen(layla, code=participation.pseudonym)
    assert (await Assignment.objects.aget()).outcome == Outcome.COMPLETE


async def seen(visitor: Visitor, *, is_new_kind: bool = True, code: str = "") -> None:
    """All that is on the page is in the worker's language; a new kind of page has no flaws, either."""
    await visitor.page.wait_for_load_state()
    assert await english(visitor, code) == []
    if is_new_kind:
        assert await visitor.flaws() == []


async def test_pages_in_long_words_and_other_scripts_fit_a_narrow_phone(
    visit: Visit, make_study: MakeStudy
) -> None:
    worker = await visit(viewport={"width": 320, "height": 700})

    for language in ("de", "ja", "hi"):  # the longest words, no spaces, the widest script
        study = await sync_to_async(make_study)(languages=[language], pay_amount="2.50", bots={language: 1})
        await worker.go(study.get_entry_url())
        await expect(worker.page.locator(f"html[lang={language}]")).to_be_attached()
        assert await worker.fits(), language
        await worker.page.locator("#agree").check()
        await worker.page.locator("form:has(#agree) button").click()
        await expect(worker.page.get_by_role("heading", level=1)).not_to_have_text("")
        await expect(worker.page.locator("#agree")).to_have_count(0)
        assert await worker.fits(), language
