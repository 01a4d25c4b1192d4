"use strict";
// Tables that can be sorted by a click on a column, and searched. Without this script the page can still be read.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.querySelectorAll("th button").forEach((button) => {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const column = [...head.parentNode.children].indexOf(head);
      const falling = head.getAttribute("aria-sort") !== "descending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      const keyed = [...body.rows].map((row) => [value(row.cells[column]), row]);
      keyed.sort(([a], [b]) => compared(a, b) * (falling ? -1 : 1));
      body.append(...keyed.map(([, row]) => row));
    });
  });
}
for (const input of document.querySelectorAll("input[data-table]")) {
  const body = document.getElementById(input.dataset.table).tBodies[0];
  const counter = document.getElementById(input.dataset.count);
  const report = (shown) => { counter.textContent = shown + " of " + body.rows.length; };
  input.addEventListener("input", () => {
    const query = input.value.trim().toLowerCase();
    let shown = 0;
    for (const row of body.rows) {
      row.hidden = !row.textContent.toLowerCase().includes(query);
      shown += row.hidden ? 0 : 1;
    }
    report(shown);
  });
  report(body.rows.length);
}
function value(cell) {
  return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
}
function compared(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
}
