"""What a screen reader needs, on every page: names, one heading, landmarks, a language."""

import pytest
from playwright.async_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FLAWS = """() => {
    const flaws = [];
    const shown = selector => [...document.querySelectorAll(selector)].filter(element => element.checkVisibility());
    const named = element => [
        element.getAttribute("aria-label"),
        ...(element.getAttribute("aria-labelledby") ?? "").split(" ").map(id => document.getElementById(id)?.textContent),
        ...[...element.labels ?? []].map(label => label.textContent),
        element.matches("input, textarea, select") ? "" : element.textContent,
    ].some(name => name?.trim());
    for (const control of shown("button, a, input:not([type=hidden]), textarea, select, progress, dialog"))
        if (!named(control)) flaws.push(`no name: ${control.outerHTML}`);
    for (const group of shown("fieldset"))
        if (!group.querySelector(":scope > legend")?.textContent.trim()) flaws.push(`no legend: ${group.outerHTML}`);
    for (const place of shown("nav, section, [role=region]"))
        if (!place.getAttribute("aria-label") && !place.getAttribute("aria-labelledby")) flaws.push(`unnamed: ${place.className}`);
    for (const image of shown("img, [role=img]"))
        if (!image.hasAttribute("alt") && !image.getAttribute("aria-label")) flaws.push(`no text: ${image.outerHTML}`);
    for (const cell of shown("th")) if (!cell.scope) flaws.push(`no scope: ${cell.outerHTML}`);
    const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
    ids.filter((id, index) => ids.indexOf(id) !== index).forEach(id => flaws.push(`two of #${id}`));
    for (const attribute of ["aria-describedby", "aria-labelledby", "for"])
        for (const element of document.querySelectorAll(`[${attribute}]`))
            for (const id of element.getAttribute(attribute).split(" "))
                if (!ids.includes(id)) flaws.push(`${attribute} of ${element.outerHTML} names #${id}, which is not there`);
    const levels = [...document.querySelectorAll("h1, h2, h3")].map(heading => Number(heading.tagName[1]));
    if (levels.filter(level => level === 1).length !== 1 || levels[0] !== 1) flaws.push(`headings: ${levels}`);
    levels.forEach((level, index) => { if (index && level > levels[index - 1] + 1) flaws.push(`jump: ${levels}`) });
    if (document.querySelectorAll("main").length !== 1) flaws.push("not one main");
    if (!document.documentElement.lang || !document.title.trim()) flaws.push("no language or title");
    if (document.querySelector("[style], style, [onclick]")) flaws.push("inline style or script");
    return flaws;
}"""


async def test_the_worker_pages(wanda, study):
    page = wanda.page
    await wanda.go(study.get_entry_url())
    await page.get_by_text("Go on with a resume code").click()
    assert await page.evaluate(FLAWS) == []
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.wait_for_url("**/instructions/")
    assert await page.evaluate(FLAWS) == []
    await page.get_by_role("button", name="Start the conversation").click()
    for number in range(7):
        await wanda.exchange(f"Message {number}")
        if number == 0:
            assert await page.evaluate(FLAWS) == []
    await page.get_by_role("button", name="Finish").click()
    assert await page.evaluate(FLAWS) == []
    await page.get_by_role("button", name="Yes, finish").click()
    await expect(page.get_by_label("Completion code")).to_be_visible()
    assert await page.evaluate(FLAWS) == []


async def test_the_pages_that_turn_people_away(wanda, study):
    for path in ("/s/nosuchstudy/", f"/s/{study.code}/thanks/", "/no/such/page/", "/sign-in/"):
        await wanda.go(path)
        assert await wanda.page.evaluate(FLAWS) == []


async def test_a_question_speaks_with_the_reply_it_is_about(wanda, study):
    await wanda.start(study)
    await wanda.say("Hello")

    question = wanda.questions(1).get_by_role("group", name="Does it make sense?")
    await expect(question).to_have_accessible_description("Go on.")
    await expect(question.get_by_role("button", name="Yes")).to_have_accessible_name("Yes")
    await expect(question.get_by_role("button", name="Yes")).to_have_attribute("aria-pressed", "false")


async def test_the_reason_for_a_locked_send_button_is_read_with_it(wanda, study):
    await wanda.start(study)
    await wanda.say("Hello")
    await expect(wanda.open_question).to_be_visible()

    send = wanda.page.get_by_role("button", name="Send")
    await expect(send).to_have_accessible_description("Answer the question under the last reply, then go on.")
    await expect(send).to_have_attribute("aria-disabled", "true")


async def test_nothing_moves_for_those_who_asked_for_stillness(visit, study):
    visitor = await visit(reduced_motion="reduce")
    await visitor.start(study)

    moving = "() => [...document.querySelectorAll('*')].filter(e => getComputedStyle(e).animationName !== 'none').length"
    assert await visitor.page.evaluate(moving) == 0


async def test_without_javascript_the_chat_says_what_it_needs(visit, study):
    visitor = await visit(java_script_enabled=False)
    page = visitor.page
    await visitor.go(study.get_entry_url())
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Start the conversation").click()

    await expect(page.get_by_text("This page needs JavaScript")).to_be_visible()
