// Make tables sortable by their headings and searchable. Without this script they are static.
function valueOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value !== undefined ? Number(cell.dataset.value) : cell.textContent.trim().toLocaleLowerCase();
}

function sort(table, column, heading) {
  const before = heading.getAttribute("aria-sort");
  const numbers = heading.classList.contains("number");
  const up = before === null ? !numbers : before === "descending";
  const rows = [...table.tBodies[0].rows].map((row) => [valueOf(row, column), row]);
  rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1));
  table.tBodies[0].append(...rows.map(([, row]) => row));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", up ? "ascending" : "descending");
}

function find(input) {
  const words = input.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  let matches = 0;
  const rows = document.getElementById(input.dataset.find).tBodies[0].rows;
  for (const row of rows) {
    const text = row.textContent.toLocaleLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    matches += row.hidden ? 0 : 1;
  }
  document.querySelector(`[data-found="${input.dataset.find}"]`).textContent = words.length ? `${matches} of ${rows.length}` : "";
}

for (const table of document.querySelectorAll("table[data-sortable]")) {
  [...table.tHead.rows[0].cells].forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => sort(table, column, heading));
    heading.append(button);
  });
}

for (const input of document.querySelectorAll("input[data-find]")) {
  input.closest(".find").hidden = false;
  input.addEventListener("input", () => find(input));
}
