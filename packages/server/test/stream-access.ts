// Stream access without checks: they belong to the HTTP layer (http/app-guard.ts).

import { ANONYMOUS } from "../src/core/session-access.ts";
import type { StreamAccess, WantedApp } from "../src/core/ports/driving/services.ts";

export const FOR_ANYBODY: StreamAccess = {
  session: ANONYMOUS,
  endFor: () => null,
  refresh: null,
  askedAt: () => null,
};

export const NO_APP_NAMED: WantedApp = { access: ANONYMOUS, app: null, keyApp: null, authorize() {} };
