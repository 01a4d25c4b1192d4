/** Dragging a row of a list to another position with mouse, pen or finger. */

/**
 * Make a row draggable by its handle. `rows()` returns all rows from top to bottom; `dropped(row, index)` is called with
 * the new position. Until then rows are only drawn elsewhere. Escape cancels.
 */
export function makeDraggable(row, handle, rows, dropped) {
  handle.addEventListener("pointerdown", (down) => {
    if (down.button !== 0) return;
    const all = rows();
    const middles = all.map(middleOf);
    const from = all.indexOf(row);
    let to = from;

    const move = (event) => {
      const shift = event.clientY - down.clientY;
      to = nearest(middles, middles[from] + shift);
      all.forEach((other, at) => draw(other, other === row ? shift : sidestep(at, from, to, middles)));
      row.classList.add("dragged");
    };
    const end = (event) => {
      all.forEach((other) => draw(other, 0));
      row.classList.remove("dragged");
      stop.abort();
      if (event.type === "pointerup" && to !== from) dropped(row, to);
    };
    const stop = new AbortController();
    const { signal } = stop;
    handle.setPointerCapture(down.pointerId);
    handle.addEventListener("pointermove", move, { signal });
    handle.addEventListener("pointerup", end, { signal });
    handle.addEventListener("pointercancel", end, { signal });
    window.addEventListener("keydown", (event) => event.key === "Escape" && end(event), { signal });
  });
}

const middleOf = (row) => row.getBoundingClientRect().top + row.offsetHeight / 2;

/** Return the index of the middle closest to a height. */
function nearest(middles, height) {
  const distances = middles.map((middle) => Math.abs(middle - height));
  return distances.indexOf(Math.min(...distances));
}

/** Return how far a row moves to make room for the dragged one. */
function sidestep(at, from, to, middles) {
  if (from < at && at <= to) return middles[at - 1] - middles[at];
  if (to <= at && at < from) return middles[at + 1] - middles[at];
  return 0;
}

const draw = (row, shift) => (row.style.transform = shift ? `translateY(${shift}px)` : "");
