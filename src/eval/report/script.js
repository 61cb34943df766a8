"use strict";
// Sorting: a click, Enter or space on a column's head; a second one turns the order round.
const valueOf = (cell) => cell.dataset.v === undefined ? cell.textContent.trim() : cell.dataset.v === "" ? NaN : Number(cell.dataset.v);
const compare = (a, b) => {
  if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b), "en", { numeric: true });
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return a - b;
};
function sort(table, column, direction) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [valueOf(row.cells[column]), row]);
  const empty = (value) => typeof value === "number" && Number.isNaN(value);
  rows.sort(([a], [b]) => (empty(a) || empty(b) ? compare(a, b) : direction * compare(a, b)));
  body.append(...rows.map(([, row]) => row));
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    if (i === column) head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  });
}
for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.tabIndex = 0;
    const turn = () => {
      const cell = table.tBodies[0].rows[0]?.cells[column];
      const first = cell && cell.dataset.v !== undefined ? -1 : 1;
      const now = head.getAttribute("aria-sort");
      sort(table, column, now === null ? first : now === "ascending" ? -1 : 1);
    };
    head.addEventListener("click", turn);
    head.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); turn(); }
    });
  });
}
// The table of sequences shows one metric at a time; every cell holds all of them.
const metric = document.getElementById("metric");
const table = document.getElementById("sequences-table");
function show() {
  const [name, decimals, low] = [metric.value, Number(metric.selectedOptions[0].dataset.decimals), metric.value === "cle"];
  for (const row of table.tBodies[0].rows) {
    let best = null;
    for (const cell of row.querySelectorAll("td.score")) {
      cell.classList.remove("best");
      const text = cell.dataset[name];
      cell.dataset.v = text ?? "";
      if (text === undefined || text === "") { cell.textContent = "\u2013"; cell.style.setProperty("--v", 0); continue; }
      const value = Number(text);
      cell.textContent = value.toFixed(decimals);
      cell.style.setProperty("--v", low ? Math.max(0, 1 - value / 50) : value);
      const better = best === null || (low ? value < best : value > best);
      if (better) best = value;
    }
    for (const cell of row.querySelectorAll("td.score")) {
      if (best !== null && cell.dataset.v !== "" && Number(cell.dataset.v) === best) cell.classList.add("best");
    }
  }
  const sorted = [...table.tHead.rows[0].cells].findIndex((head) => head.hasAttribute("aria-sort"));
  if (sorted >= 0) sort(table, sorted, table.tHead.rows[0].cells[sorted].getAttribute("aria-sort") === "ascending" ? 1 : -1);
}
if (metric && table) { metric.addEventListener("change", show); show(); }
