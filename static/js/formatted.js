/** A new study shows Markdown formatted once a bot behind a service is chosen, unless the researcher decides otherwise. */

const box = document.getElementById("id_markdown");
const note = document.getElementById("markdown-told");

if (box instanceof HTMLInputElement) {
  let isDecided = false;
  box.addEventListener("input", () => (isDecided = true));
  const update = () => {
    if (isDecided) return;
    const formattedBot = document.querySelector(".bot-row[data-formatted='true'] input[name$='-chosen']:checked");
    box.checked = formattedBot !== null;
    if (note) note.hidden = !formattedBot;
  };
  document.addEventListener("input", ({ target }) => target !== box && update());
  update();
}
