/** Starts the reading material beside the conversation, which is on the page from the start. */

import { Reading } from "../kit/reading.js";

new Reading();
