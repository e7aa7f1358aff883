// Public API: the plugin. Modules under `internal/` may change in any release.

import { s3 } from "./plugin.ts";

export default s3;
