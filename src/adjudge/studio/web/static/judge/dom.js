/** Making and finding elements. */

/** Return a new element. Properties that are no property of elements (aria-..., data-...) become attributes. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Return a copy of what a <template> holds. */
export function copied(template) {
  return document.getElementById(template).content.firstElementChild.cloneNode(true);
}

/** Return a function that finds the one element with a data-part in a view. */
export function partsOf(view) {
  return (name) => view.querySelector(`[data-part="${name}"]`);
}

/** Open a dialog and wait until it is closed; the answer is the value of the button that closed it. */
export function asked(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}

/** Whether somebody is typing there, so that letters are letters. */
export function isTyping(target) {
  return target.matches?.("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])") ?? false;
}
