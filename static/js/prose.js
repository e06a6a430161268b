/** Completes the formatted texts of a page that the server has rendered. */

import { complete } from "./kit/prose.js";

for (const prose of document.querySelectorAll(".prose")) if (prose instanceof HTMLElement) complete(prose);
