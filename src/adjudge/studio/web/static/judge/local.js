/** Values stored in this browser. If storage is not allowed, the page keeps them until it is closed. */

const fallback = new Map();
const ROOT = `adjudge${document.documentElement.dataset.root ?? ""}/work/`; // campaigns of one host are kept apart

/** Return the value stored under a name, or null. */
export function load(name) {
  try {
    return JSON.parse(fallback.get(name) ?? localStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** Store a value under a name; null deletes it. */
export function save(name, value) {
  fallback.delete(name);
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, JSON.stringify(value));
  } catch {
    if (value !== null) fallback.set(name, JSON.stringify(value));
  }
}

/** Return the name under which a person's work on an assignment is stored. */
export function workName(person, assignment) {
  return `${ROOT}${encodeURIComponent(person)}/${assignment}`;
}

/** Return the names of a person's stored work, without the common prefix. */
export function storedWork(person) {
  const start = workName(person, "");
  let names = [];
  try {
    names = Object.keys(localStorage);
  } catch {
    // Without storage nothing is stored.
  }
  const mine = [...names, ...fallback.keys()].filter((name) => name.startsWith(start));
  return mine.map((name) => name.slice(start.length));
}
