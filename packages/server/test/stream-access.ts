// Stream access without checks: they belong to the HTTP layer (http/app-access.ts).

import type { StreamAccess, WantedApp } from "../src/core/ports/driving/services.ts";

export const FOR_ANYBODY: StreamAccess = { opens: () => true, refresh: null, askedAt: () => null };

export const NO_APP_NAMED: WantedApp = { app: null, keyApp: null, authorize() {} };
