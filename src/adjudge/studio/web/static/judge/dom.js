/** Creating and finding elements. */

/** Return a new element. Names that are not DOM properties (aria-..., data-...) become attributes. */
export function element(tag, properties = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in created) created[name] = value;
    else created.setAttribute(name, value);
  }
  created.append(...children);
  return created;
}

/** Return a copy of the content of a <template>. */
export function cloneTemplate(template) {
  return document.getElementById(template).content.firstElementChild.cloneNode(true);
}

/** Return a function that finds the one element with a data-part in a view. */
export function partsOf(view) {
  return (name) => view.querySelector(`[data-part="${name}"]`);
}

/** Open a dialog and wait until it is closed; the answer is the value of the button that closed it. */
export function showDialog(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue), { once: true });
  });
}

/** Return whether a target is a text field, in which letters are not shortcuts. */
export function isTyping(target) {
  return target.matches?.("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])") ?? false;
}
