// Refresh the overview: the part that changes is fetched every few seconds while the page is visible.
const INTERVAL = 4000; // milliseconds
const container = document.querySelector("[data-live]");
const freshness = document.getElementById("freshness");
let updated = Date.now();

// Replace the content; scroll positions and the focus are kept.
function replaceContent(change) {
  const scrolled = [...container.querySelectorAll(".scroll")].map((box) => [box.scrollTop, box.scrollLeft]);
  const focused = container.contains(document.activeElement) ? [...container.querySelectorAll("a, [tabindex]")].indexOf(document.activeElement) : -1;
  change();
  [...container.querySelectorAll(".scroll")].forEach((box, n) => { [box.scrollTop, box.scrollLeft] = scrolled[n] ?? [0, 0]; });
  if (focused >= 0) container.querySelectorAll("a, [tabindex]")[focused]?.focus({ preventScroll: true });
}

function showState(state) {
  freshness.dataset.state = state;
  const seconds = Math.round((Date.now() - updated) / 1000);
  freshness.textContent = state === "offline" ? `The studio cannot be reached; the numbers are ${seconds} s old` : "Live";
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(container.dataset.live, { headers: { Accept: "text/html" }, redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    replaceContent(() => container.replaceChildren(...fresh.body.childNodes));
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
