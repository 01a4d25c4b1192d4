/** What a judge likes, remembered on this machine. */

import { kept, keep } from "./local.js";

const NAME = "adjudge/preferences";
const DEFAULTS = { letters: true, advance: true, zoom: 1 };

/** Return all preferences. */
export const preferences = () => ({ ...DEFAULTS, ...kept(NAME) });

/** Change one of them. */
export const prefer = (name, value) => keep(NAME, { ...preferences(), [name]: value });
