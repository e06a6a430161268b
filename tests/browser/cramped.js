// What does not fit a phone: a page wider than the screen, controls out of reach or under 44 px. Else an empty list.
() => {
    const flaws = [];
    const page = document.documentElement;
    if (page.scrollWidth > page.clientWidth) flaws.push(`${page.scrollWidth - page.clientWidth} px too wide`);
    for (const control of document.querySelectorAll("button, summary, a, input:not([type=hidden]), textarea")) {
        if (!control.checkVisibility() || control.matches(".skip")) continue;
        const { left, right } = control.getBoundingClientRect();
        if (left < 0 || right > innerWidth) flaws.push(`out of reach: ${control.outerHTML}`);
        const target = control.type === "checkbox" ? control.parentElement : control; // its label is part of it
        const inSentence = control.matches("a:not(.button)");
        if (!inSentence && target.getBoundingClientRect().height < 43.5) flaws.push(`small: ${control.outerHTML}`);
    }
    return flaws;
}
