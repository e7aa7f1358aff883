// Public API: the plugin.

import { openai } from "./plugin.ts";

export default openai;
