// What axe-core finds on this page, in one line for each rule, and the colours of its texts. Contrast depends on them
// alone and takes half of the time: it is computed only of texts whose colours are not among those known to be readable.
// Where the same elements are visible as in a search before, only rules about their layout run.
async ({ known, isContrastAlone, searched }) => {
    // In the middle of an animation colours are not what they will be.
    const finite = animation => Number.isFinite(animation.effect?.getComputedTiming().endTime);
    await Promise.allSettled(document.getAnimations().filter(finite).map(animation => animation.finished));

    // FNV-1a twice, 64 bits: hundreds of descriptions would be sent with every page.
    const hash = text => [0x811c9dc5, 0x01000193].map(start => {
        let value = start;
        for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
        return (value >>> 0).toString(16).padStart(8, "0");
    }).join("");
    const coloursOf = element => {
        const { color, fill, fontSize, fontWeight, textShadow } = getComputedStyle(element);
        const { width, height } = element.getBoundingClientRect();
        const isExempt = Boolean(element.closest(":disabled, [aria-disabled=true], label:has(:disabled)"));
        const grounds = [];
        for (let each = element, isOpaque = false; each && !isOpaque; each = each.parentElement) {
            const { backgroundColor, backgroundImage, opacity, clipPath } = getComputedStyle(each);
            grounds.push(backgroundColor, backgroundImage, opacity, clipPath);
            isOpaque = /^rgb\(/.test(backgroundColor) && opacity === "1";
        }
        const isTiny = width < 2 || height < 2; // for screen readers only
        return hash([color, fill, fontSize, fontWeight, textShadow, isExempt, isTiny, ...grounds].join(";"));
    };
    const hasText = element => element.matches("input, textarea, select")
        || [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const texts = [...document.body.querySelectorAll("*")].filter(each => each.checkVisibility() && hasText(each));
    const readable = new Set(known);
    const colours = new Set();
    const include = [];
    for (const text of texts) {
        const its = coloursOf(text);
        if (readable.has(its)) continue;
        colours.add(its);
        include.push(text);
    }

    const violations = [];
    const search = async (where, rules) =>
        violations.push(...(await axe.run(where, { resultTypes: ["violations"], ...rules })).violations);
    const elements = [...document.querySelectorAll("*")];
    const visible = hash(elements.map(each => Number(each.checkVisibility({ visibilityProperty: true }))).join(""));
    const layout = ["link-in-text-block", "scrollable-region-focusable", "target-size"];
    const isAsked = rule => rule !== "color-contrast" && (!searched.includes(visible) || layout.includes(rule));
    const left = axe.getRules().map(({ ruleId }) => ruleId).filter(rule => !isAsked(rule));
    if (!isContrastAlone) await search(document, { rules: Object.fromEntries(left.map(rule => [rule, { enabled: false }])) });
    if (include.length) await search({ include }, { runOnly: ["color-contrast"] });
    const flaws = violations.map(({ id, impact, nodes }) =>
        `axe ${id} (${impact}): ${nodes.slice(0, 3).map(node => `${node.html.slice(0, 200)} ${node.failureSummary}`).join(" | ")}`);
    return { flaws, colours: [...colours], visible };
}
