/** Dragging a row of a list to another place, by mouse, pen or finger. */

/**
 * Let rows be dragged by a handle. `rows()` returns them from top to bottom, `dropped(row, index)` hears where one was
 * put. Nothing in the page moves until then: the rows are only drawn elsewhere. Escape puts the row back.
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

/** Return how far a row makes room for one that goes from a place to another. */
function sidestep(at, from, to, middles) {
  if (from < at && at <= to) return middles[at - 1] - middles[at];
  if (to <= at && at < from) return middles[at + 1] - middles[at];
  return 0;
}

const draw = (row, shift) => (row.style.transform = shift ? `translateY(${shift}px)` : "");
