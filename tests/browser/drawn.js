// Boxes of what the charts of a page show, in pixels; lines are those of two points, as whiskers are.
() => {
  const box = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { what: element.textContent.trim() || element.tagName, left, top, right, bottom };
  };
  const painted = (element) => `${element.getAttribute("stroke")} ${element.getAttribute("fill")}`;
  const isData = (element) => /--chart-([123]|reference)/.test(painted(element));
  const isWhisker = (element) => /^M [^ML]*L [^ML]*$/.test((element.getAttribute("d") ?? "").trim());
  const seen = [...document.querySelectorAll(".chart svg")].filter((svg) => svg.checkVisibility());
  return seen.map((svg) => {
    const marks = [...svg.querySelectorAll("use, .mark__shape"), ...[...svg.querySelectorAll("path")].filter(isWhisker)];
    return {
      name: svg.getAttribute("aria-label").slice(0, 30),
      svg: box(svg),
      frame: box(svg.closest(".chart")),
      texts: [...svg.querySelectorAll("text")].map(box),
      marks: marks.filter(isData).map(box),
    };
  });
}
