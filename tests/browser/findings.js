// What axe-core finds on this page, in one line for each rule; an empty list where nothing is found.
async options => {
    // In the middle of an animation colours are not what they will be.
    const finite = animation => Number.isFinite(animation.effect?.getComputedTiming().endTime);
    await Promise.allSettled(document.getAnimations().filter(finite).map(animation => animation.finished));
    const { violations } = await axe.run(document, { resultTypes: ["violations"], ...options });
    return violations.map(({ id, impact, nodes }) =>
        `axe ${id} (${impact}): ${nodes.slice(0, 3).map(node => `${node.html.slice(0, 200)} ${node.failureSummary}`).join(" | ")}`);
}
