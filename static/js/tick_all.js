/** Ticks all rows of a table with one checkbox in its head. */

for (const all of document.querySelectorAll("input[data-ticks]")) {
  if (!(all instanceof HTMLInputElement)) continue;
  const rows = [...document.querySelectorAll(`input[name="${all.dataset.ticks}"]`)].filter((each) => each instanceof HTMLInputElement);
  all.hidden = false;
  all.addEventListener("change", () => rows.forEach((each) => (each.checked = all.checked)));
  for (const row of rows) {
    row.addEventListener("change", () => {
      const ticked = rows.filter((each) => each.checked).length;
      all.checked = ticked === rows.length;
      all.indeterminate = ticked > 0 && ticked < rows.length;
    });
  }
}
