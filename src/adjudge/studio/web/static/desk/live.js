// Keep the overview fresh: the part that changes is fetched again every few seconds, while somebody can see it.
const EVERY = 4000;
const place = document.querySelector("[data-live]");
const freshness = document.getElementById("freshness");
let seen = Date.now();

// Scrolled tables stay where they are, and what has the focus keeps it.
function keeping(change) {
  const scrolled = [...place.querySelectorAll(".scroll")].map((box) => [box.scrollTop, box.scrollLeft]);
  const focused = place.contains(document.activeElement) ? [...place.querySelectorAll("a, [tabindex]")].indexOf(document.activeElement) : -1;
  change();
  [...place.querySelectorAll(".scroll")].forEach((box, n) => { [box.scrollTop, box.scrollLeft] = scrolled[n] ?? [0, 0]; });
  if (focused >= 0) place.querySelectorAll("a, [tabindex]")[focused]?.focus({ preventScroll: true });
}

function say(state) {
  freshness.dataset.state = state;
  const seconds = Math.round((Date.now() - seen) / 1000);
  freshness.textContent = state === "offline" ? `Not reachable; numbers are ${seconds} s old` : "Live";
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch(place.dataset.live, { headers: { Accept: "text/html" }, redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    keeping(() => place.replaceChildren(...fresh.body.childNodes));
    seen = Date.now();
    say("live");
  } catch {
    say("offline");
  }
}

async function forever() {
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY));
    await refresh();
  }
}

document.addEventListener("visibilitychange", refresh);
say("live");
forever();
