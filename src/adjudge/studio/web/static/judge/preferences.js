/** The preferences of a judge, stored in this browser. */

import { load, save } from "./local.js";

const NAME = "adjudge/preferences";
const DEFAULTS = { letters: true, advance: true, zoom: 1 };

/** Return all preferences. */
export const preferences = () => ({ ...DEFAULTS, ...load(NAME) });

/** Change one of them. */
export const prefer = (name, value) => save(NAME, { ...preferences(), [name]: value });
