// Public API: the plugin. Modules under `internal/` may change in any release.

import { postgres } from "./plugin.ts";

export default postgres;
