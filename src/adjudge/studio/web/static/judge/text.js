/** The texts of the page in the reader's language. They come with the page, from catalogue.toml. */

const texts = JSON.parse(document.getElementById("texts").textContent);
const language = document.documentElement.lang;

/** Return a text with {names} filled in; n chooses between "singular|plural". */
export function t(key, values = {}) {
  const forms = texts[key].split("|");
  const form = forms.length > 1 && values.n !== 1 ? forms[1] : forms[0];
  return form.replace(/\{(\w+)\}/g, (_, name) => format(values[name]));
}

/** Return a number in the format of the language. */
export function number(value, digits = 0) {
  return new Intl.NumberFormat(language, { maximumFractionDigits: digits }).format(value);
}

/** Return a share as a percentage: .85 is 85 %. */
export function percent(share) {
  return new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 }).format(share);
}

/** Return an amount of money. A currency that the browser does not know is written after the number. */
export function money(amount, currency) {
  try {
    return new Intl.NumberFormat(language, { style: "currency", currency }).format(amount);
  } catch {
    return `${number(amount, 2)} ${currency}`;
  }
}

/** Return names as a list: A, B and C. */
export function listed(names) {
  return new Intl.ListFormat(language).format(names);
}

/** Return the letter of a document in its set. */
export const letter = (slot) => String.fromCharCode(65 + slot);

const format = (value) => (typeof value === "number" ? number(value, 2) : String(value));
