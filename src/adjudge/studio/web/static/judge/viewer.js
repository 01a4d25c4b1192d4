/**
 * Documents in their frames. A frame is sandboxed and cannot be observed, so every document has its own frame: switching
 * is instant, the scroll position is kept, and the documents of the next set are loaded in advance.
 */

import { address } from "./api.js";
import { element } from "./dom.js";
import { createFinder } from "./finder.js";
import { prefer, preferences } from "./preferences.js";
import { percent, t } from "./text.js";

const ZOOMS = [0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3];

/** Return the viewer of a view with the parts frames, find, found, previous-match, next-match and the zoom buttons. */
export function createViewer(part) {
  const frames = new Map(); // document's address -> its frame
  const finder = createFinder(part, go);
  let open = null;
  let zoom = preferences().zoom;

  function frameOf(url, title) {
    if (!frames.has(url)) frames.set(url, part("frames").appendChild(createFrame(url, title)));
    return frames.get(url);
  }

  /** Show a document, with the matches of the current search. */
  function show(url, title) {
    open = url;
    const current = frameOf(url, title);
    frames.forEach((frame) => frame.classList.toggle("open", frame === current));
    scale();
    finder.renew(url);
  }

  /** Load documents in advance. */
  const prefetch = (documents) => documents.forEach((one) => frameOf(one.url, one.title));

  /** Remove the documents of other sets. */
  function retain(documents) {
    const urls = new Set(documents.map((one) => one.url));
    for (const [url, frame] of frames) {
      if (urls.has(url)) continue;
      frame.remove();
      frames.delete(url);
    }
  }

  /** Load an address into a frame without adding an entry to the browser history. */
  function go(url, target) {
    const frame = frames.get(url);
    if (frame && frame.dataset.address !== target) {
      frame.dataset.address = target;
      frame.contentWindow.location.replace(address(target));
    }
  }

  /** Zoom the open document: its frame gets smaller and is drawn larger, so that lines still fit. */
  function scale() {
    const frame = frames.get(open);
    if (!frame) return;
    frame.style.width = frame.style.height = `${100 / zoom}%`;
    frame.style.transform = zoom === 1 ? "" : `scale(${zoom})`;
    part("zoom").textContent = percent(zoom);
  }

  /** Zoom in (1), out (-1), or back to normal (0). */
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
    /** Focus the document, so that the arrow keys scroll it. */
    enter: () => frames.get(open)?.focus(),
    /** Return whether the focus or the pointer is in the document. */
    isReading: () => frameList().some((frame) => frame === document.activeElement || frame.matches(":hover")),
    /** Return whether the focus is in the document. */
    hasKeyboard: () => frameList().includes(document.activeElement),
  };
}

/** Return a sandboxed frame without scripts. */
function createFrame(url, title) {
  const frame = element("iframe", { title: t("document_frame", { title }), className: "frame", "data-address": url });
  frame.setAttribute("sandbox", "");
  frame.referrerPolicy = "no-referrer";
  frame.src = address(url);
  return frame;
}
