// Public API: the plugin. Modules under `internal/` may change in any release.

import { nats } from "./plugin.ts";

export default nats;
