/** What is kept in this browser. Where it may keep nothing, the page remembers until it is closed. */

const fallback = new Map();
const ROOT = "adjudge/work/";

/** Return what is kept under a name, or null. */
export function kept(name) {
  try {
    return JSON.parse(fallback.get(name) ?? localStorage.getItem(name) ?? "null");
  } catch {
    return null;
  }
}

/** Keep a value under a name; null forgets it. */
export function keep(name, value) {
  fallback.delete(name);
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, JSON.stringify(value));
  } catch {
    if (value !== null) fallback.set(name, JSON.stringify(value));
  }
}

/** Return the name under which a person's work on an assignment is kept. */
export function workName(person, assignment) {
  return `${ROOT}${encodeURIComponent(person)}/${assignment}`;
}

/** Return the assignments of which something of a person is kept here. */
export function keptWork(person) {
  const start = workName(person, "");
  let names = [];
  try {
    names = Object.keys(localStorage);
  } catch {
    // A browser that may keep nothing has nothing kept.
  }
  const mine = [...names, ...fallback.keys()].filter((name) => name.startsWith(start));
  return mine.map((name) => name.slice(start.length));
}
