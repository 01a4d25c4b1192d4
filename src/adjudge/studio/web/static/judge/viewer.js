/**
 * Documents in their frames. A frame is sandboxed and tells us nothing, so every document keeps a frame of its own:
 * switching is instant, its place is kept, and the documents of the next set are there before they are wanted.
 */

import { element } from "./dom.js";
import { createFinder } from "./finder.js";
import { prefer, preferences } from "./preferences.js";
import { percent, t } from "./text.js";

const ZOOMS = [0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3];

/** Return the viewer of a view that has the parts frames, find, found, previous, next-match and the zoom buttons. */
export function createViewer(part) {
  const frames = new Map(); // document's address -> its frame
  const finder = createFinder(part, go);
  let open = null;
  let zoom = preferences().zoom;

  function frameOf(url, title) {
    if (!frames.has(url)) frames.set(url, part("frames").appendChild(createFrame(url, title)));
    return frames.get(url);
  }

  /** Show a document, marked with what is being looked for. */
  function show(url, title) {
    open = url;
    const shown = frameOf(url, title);
    frames.forEach((frame) => frame.classList.toggle("open", frame === shown));
    scale();
    finder.renew(url);
  }

  /** Load documents before they are wanted. */
  const prefetch = (documents) => documents.forEach((one) => frameOf(one.url, one.title));

  /** Forget the documents of other sets. */
  function retain(documents) {
    const wanted = new Set(documents.map((one) => one.url));
    for (const [url, frame] of frames) {
      if (wanted.has(url)) continue;
      frame.remove();
      frames.delete(url);
    }
  }

  /** Lead a frame to an address without leaving a step behind for the back button. */
  function go(url, address) {
    const frame = frames.get(url);
    if (frame && frame.dataset.address !== address) {
      frame.dataset.address = address;
      frame.contentWindow.location.replace(address);
    }
  }

  /** Enlarge the open document: its frame gets smaller and is drawn larger, so that lines still fit. */
  function scale() {
    const frame = frames.get(open);
    if (!frame) return;
    frame.style.width = frame.style.height = `${100 / zoom}%`;
    frame.style.transform = zoom === 1 ? "" : `scale(${zoom})`;
    part("zoom").textContent = percent(zoom);
  }

  /** Go one step larger (1), smaller (-1), or back to normal (0). */
  function magnify(step) {
    const at = ZOOMS.indexOf(zoom) + step;
    zoom = step === 0 ? 1 : ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, at))];
    prefer("zoom", zoom);
    scale();
  }

  part("larger").addEventListener("click", () => magnify(1));
  part("smaller").addEventListener("click", () => magnify(-1));
  part("zoom").addEventListener("click", () => magnify(0));
  const frameList = () => [...frames.values()];
  return {
    show,
    prefetch,
    retain,
    magnify,
    finder,
    /** Give the keyboard to the document, so that arrows scroll it. */
    enter: () => frames.get(open)?.focus(),
    /** Whether the judge is in the document, with keyboard or pointer. */
    isReading: () => frameList().some((frame) => frame === document.activeElement || frame.matches(":hover")),
    /** Whether the keyboard is in the document. */
    hasKeyboard: () => frameList().includes(document.activeElement),
  };
}

/** Return a frame in which nothing runs. */
function createFrame(url, title) {
  const frame = element("iframe", { title: t("document_frame", { title }), className: "frame", "data-address": url });
  frame.setAttribute("sandbox", "");
  frame.referrerPolicy = "no-referrer";
  frame.src = url;
  return frame;
}
