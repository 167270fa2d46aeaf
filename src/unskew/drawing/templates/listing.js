// A table of any length: only the rows in sight are in the document. Sorted by a click on a head, searched as one types.
const LINE = 31, MARGIN = 12, PRINTED = 25;

class Listing {
  constructor(place) {
    const given = JSON.parse(document.getElementById(place.dataset.rows).textContent);
    this.kinds = given.kinds;
    this.columns = given.columns;
    this.size = this.columns[0].length;
    this.place = place;
    this.window = place.querySelector(".window");
    this.body = place.querySelector("tbody");
    this.heads = [...place.querySelectorAll("th")];
    this.found = place.querySelector(".found");
    this.texts = null;
    this.ranks = new Map();
    this.all = Uint32Array.from({ length: this.size }, (_, k) => k);
    this.shown = this.all;
    this.sorted = { column: -1, down: true };
    this.heads.forEach((head, k) => head.firstElementChild.addEventListener("click", () => this.sort(k)));
    const input = place.querySelector("input");
    input.addEventListener("input", () => this.search(input.value));
    this.window.addEventListener("scroll", () => this.render(), { passive: true });
    new ResizeObserver(() => this.render()).observe(this.window);
    addEventListener("beforeprint", () => this.render(true));
    addEventListener("afterprint", () => this.render());
    this.search("");
  }

  sort(column) {
    const same = this.sorted.column === column;
    const down = same ? !this.sorted.down : this.kinds[column] !== "text";
    this.sorted = { column, down };
    this.heads.forEach((head, k) => {
      head.setAttribute("aria-sort", k !== column ? "none" : down ? "descending" : "ascending");
    });
    const rank = this.rank(column), sign = down ? -1 : 1;
    this.all.sort((a, b) => sign * (rank[a] - rank[b]) || a - b);
    this.search(this.place.querySelector("input").value);
    this.window.scrollTop = 0;
  }

  rank(column) {
    if (!this.ranks.has(column)) {
      const values = this.columns[column];
      let rank;
      if (this.kinds[column] === "text") {
        const order = Uint32Array.from({ length: this.size }, (_, k) => k);
        const compare = new Intl.Collator(undefined, { numeric: true }).compare;
        order.sort((a, b) => compare(values[a], values[b]));
        rank = new Float64Array(this.size);
        order.forEach((row, k) => { rank[row] = k; });
      } else {
        rank = Float64Array.from(values, (value) => (value === null ? -1 : value));
      }
      this.ranks.set(column, rank);
    }
    return this.ranks.get(column);
  }

  search(text) {
    const wanted = text.trim().toLowerCase();
    if (wanted && this.texts === null) {
      const named = this.columns.filter((_, k) => this.kinds[k] === "text");
      this.texts = Array.from({ length: this.size }, (_, k) => named.map((c) => c[k]).join("\u0000").toLowerCase());
    }
    this.shown = wanted ? this.all.filter((row) => this.texts[row].includes(wanted)) : this.all;
    const number = (n) => n.toLocaleString("en").replaceAll(",", "\u00a0");
    this.found.textContent = wanted ? `${number(this.shown.length)} of ${number(this.size)}` : `${number(this.size)} in all`;
    this.window.querySelector("table").setAttribute("aria-rowcount", this.shown.length + 1);
    if (wanted) this.window.scrollTop = 0;
    this.render();
  }

  render(printing = false) {
    const high = this.window.clientHeight || 432;
    const first = printing ? 0 : Math.max(0, Math.floor(this.window.scrollTop / LINE) - MARGIN);
    const last = Math.min(this.shown.length, printing ? PRINTED : first + Math.ceil(high / LINE) + 2 * MARGIN);
    const rows = [this.gap(first)];
    for (let k = first; k < last; k += 1) rows.push(this.row(k));
    rows.push(this.gap(this.shown.length - last));
    this.body.replaceChildren(...rows);
  }

  gap(lines) {
    const row = document.createElement("tr");
    row.className = "gap";
    row.setAttribute("aria-hidden", "true");
    const cell = row.insertCell();
    cell.style.height = `${lines * LINE}px`;
    return row;
  }

  row(k) {
    const row = document.createElement("tr");
    row.setAttribute("aria-rowindex", k + 2);
    this.columns.forEach((values, column) => {
      const cell = row.insertCell(), value = values[this.shown[k]];
      if (this.kinds[column] === "text") {
        const name = document.createElement("bdi");
        name.textContent = value; // text, whatever it looks like
        cell.className = "words";
        cell.title = value;
        cell.append(name);
      } else {
        cell.textContent = value === null ? "\u2013" : this.write(value, this.kinds[column]);
      }
    });
    return row;
  }

  write(value, kind) {
    const shown = kind === "share" ? 100 * value : value;
    const far = shown >= 1e5;
    if (shown > 0 && shown < 1e-4) return kind === "share" ? "< 0.0001 %" : "< 0.0001";
    const text = shown === 0 ? "0" : far ? shown.toExponential(1) : shown.toPrecision(3);
    return kind === "share" ? `${text} %` : far ? text : String(Number(text));
  }
}

for (const place of document.querySelectorAll(".listing")) new Listing(place);
document.documentElement.dataset.listed = "yes";
