// What a screen reader would stumble over on this page; an empty list where nothing is found.
() => {
    const flaws = [];
    const shown = selector => [...document.querySelectorAll(selector)].filter(element => element.checkVisibility());
    const named = element => [
        element.getAttribute("aria-label"),
        ...(element.getAttribute("aria-labelledby") ?? "").split(" ").map(id => document.getElementById(id)?.textContent),
        ...[...element.labels ?? []].map(label => label.textContent),
        element.matches("input, textarea, select") ? "" : element.textContent,
    ].some(name => name?.trim());
    for (const control of shown("button, a, input:not([type=hidden]), textarea, select, progress:not([aria-hidden=true]), dialog"))
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
    if (document.querySelector("[style]:not(textarea), style, [onclick]")) flaws.push("inline style or script");
    return flaws;
}
