/** The page on which two things are compared: the judging page with two sides. */

import { judge } from "../judge/judging.js";
import { describesPair, showPair } from "./pair.js";

judge({ show: showPair, describes: describesPair });
