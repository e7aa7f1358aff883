// Unrestricted access for tests below the HTTP layer, which enforces access (http/access/).

import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import type { StreamAccess, AppChoice } from "@colloquy/engine/internal/core/ports/driving/services";

export const FOR_ANYBODY: StreamAccess = {
  session: ANONYMOUS,
  endFor: () => null,
  refresh: null,
  checkedAt: () => null,
};

export const NO_APP_NAMED: AppChoice = { access: ANONYMOUS, app: null, keyApp: null, authorize() {} };
