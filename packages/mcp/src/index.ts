// Public API: the plugin. Modules under `internal/` may change in any release.

import { mcp } from "./plugin.ts";

export default mcp;
