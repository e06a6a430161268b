/** The texts beside the conversation: all of them are on the page from the start. */

import { Reading } from "../kit/reading.js";

new Reading();
