// Public API: the plugin.

import { aomi } from "./plugin.ts";

export default aomi;
