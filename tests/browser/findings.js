// What axe-core finds on this page, in one line for each rule, and the colours of its texts. Contrast depends on them
// alone and takes half of the time: it is computed only where a colour is not among those known to be readable.
async ({ known, isContrastAlone }) => {
    // In the middle of an animation colours are not what they will be.
    const finite = animation => Number.isFinite(animation.effect?.getComputedTiming().endTime);
    await Promise.allSettled(document.getAnimations().filter(finite).map(animation => animation.finished));

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
        return [color, fill, fontSize, fontWeight, textShadow, isExempt, isTiny, ...grounds].join(";");
    };
    const hasText = element => element.matches("input, textarea, select")
        || [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    const texts = [...document.body.querySelectorAll("*")].filter(each => each.checkVisibility() && hasText(each));
    const colours = [...new Set(texts.map(coloursOf))];

    const readable = new Set(known);
    const isNew = colours.some(each => !readable.has(each));
    if (isContrastAlone && !isNew) return { flaws: [], colours };
    const rules = isContrastAlone ? { runOnly: ["color-contrast"] } : { rules: { "color-contrast": { enabled: isNew } } };
    const { violations } = await axe.run(document, { resultTypes: ["violations"], ...rules });
    const flaws = violations.map(({ id, impact, nodes }) =>
        `axe ${id} (${impact}): ${nodes.slice(0, 3).map(node => `${node.html.slice(0, 200)} ${node.failureSummary}`).join(" | ")}`);
    return { flaws, colours };
}
