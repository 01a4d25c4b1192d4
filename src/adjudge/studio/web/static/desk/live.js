// Refresh the overview: the parts that have changed are fetched every few seconds while the page is visible.
const INTERVAL = 4000; // milliseconds
const container = document.querySelector("[data-live]");
const freshness = document.getElementById("freshness");
let updated = Date.now();

// Replace one part; scroll positions, open details and the focus are kept.
function replacePart(part, fresh) {
  const scrolled = [...part.querySelectorAll(".scroll")].map((box) => [box.scrollTop, box.scrollLeft]);
  const open = [...part.querySelectorAll("details")].map((box) => box.open);
  const focused = part.contains(document.activeElement) ? [...part.querySelectorAll("a, summary, [tabindex]")].indexOf(document.activeElement) : -1;
  part.replaceWith(fresh);
  [...fresh.querySelectorAll(".scroll")].forEach((box, n) => { [box.scrollTop, box.scrollLeft] = scrolled[n] ?? [0, 0]; });
  [...fresh.querySelectorAll("details")].forEach((box, n) => { box.open = open[n] ?? false; });
  if (focused >= 0) fresh.querySelectorAll("a, summary, [tabindex]")[focused]?.focus({ preventScroll: true });
}

function showState(state) {
  freshness.dataset.state = state;
  const seconds = Math.round((Date.now() - updated) / 1000);
  freshness.textContent = state === "offline" ? `The studio cannot be reached; the numbers are ${seconds} s old` : "Live";
}

async function refresh() {
  if (document.hidden) return;
  try {
    const have = [...container.children].map((part) => part.dataset.version).join(".");
    const answer = await fetch(`${container.dataset.live}?have=${have}`, { headers: { Accept: "text/html" }, redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const part of [...fresh.body.children]) replacePart(document.getElementById(part.id), part);
    updated = Date.now();
    showState("live");
  } catch {
    showState("offline");
  }
}

async function refreshForever() {
  for (;;) {
    await new Promise((done) => setTimeout(done, INTERVAL));
    await refresh();
  }
}

document.addEventListener("visibilitychange", refresh);
showState("live");
refreshForever();
