// Draws the charts of the page, lets their lines be switched off, and copies commands.
const read = (id) => JSON.parse(document.getElementById(id).textContent);
// Expressions are interpreted, not compiled, so that the page may forbid eval.
const options = { actions: false, renderer: "svg", ast: true, tooltip: { theme: "custom" } };

async function draw(place) {
  try {
    const { view } = await window.vegaEmbed(place, read(place.dataset.spec), options);
    const boxes = [...document.querySelectorAll(`[data-for="${place.id}"] input`)];
    const show = () => {
      view.signal("hidden", boxes.filter((box) => !box.checked).map((box) => box.value));
      return view.runAsync();
    };
    for (const box of boxes) box.addEventListener("change", show);
  } catch (error) {
    place.textContent = `This chart could not be drawn: ${error.message}`;
    place.classList.add("failed");
    console.error(error);
  }
}

for (const button of document.querySelectorAll(".copy")) {
  const block = button.parentElement, code = block.querySelector("code");
  const words = code.textContent.split(" ").map((word) => {
    const whole = document.createElement("span"); // lines end between words, not after the dash of an option
    whole.textContent = word;
    return whole;
  });
  code.replaceChildren(...words.flatMap((word, k) => (k ? [" ", word] : [word])));
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      block.querySelector(".copied").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren(code);
      block.querySelector(".copied").textContent = "Selected: press Ctrl+C.";
    }
  });
}

Promise.all([...document.querySelectorAll("[data-spec]")].map(draw)).then(() => {
  document.documentElement.dataset.drawn = "yes";
});
