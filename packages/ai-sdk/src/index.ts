// Public API: the plugin. Modules under `internal/` may change in any release.

import { aiSdk } from "./routes.ts";

export default aiSdk;
