// Public API: the plugin.

import { agUi } from "./plugin.ts";

export default agUi;
