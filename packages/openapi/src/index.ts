// Public API: the plugin. Modules under `internal/` may change in any release.

import { openapi } from "./plugin.ts";

export default openapi;
