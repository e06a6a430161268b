/** The judging page. */

import { describes, showItem } from "./item.js";
import { judge } from "./judging.js";

judge({ show: showItem, describes });
