// The parts of the service's code that the model uses, from any copy of the sources.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type * as decide from "@colloquy/engine/internal/core/commands/decide";
import type * as draft from "@colloquy/engine/internal/core/commands/draft";
import type * as session from "@colloquy/engine/internal/core/session";
import type * as turn from "@colloquy/engine/internal/core/turn";
import type * as dispatcher from "@colloquy/engine/internal/turns/dispatcher";
import type * as leases from "@colloquy/engine/internal/turns/leases";
import type * as runningTurns from "@colloquy/engine/internal/turns/running-turns";

interface Modules {
  readonly "core/commands/decide.ts": typeof decide;
  readonly "core/commands/draft.ts": typeof draft;
  readonly "core/session.ts": typeof session;
  readonly "core/turn.ts": typeof turn;
  readonly "turns/dispatcher.ts": typeof dispatcher;
  readonly "turns/leases.ts": typeof leases;
  readonly "turns/running-turns.ts": typeof runningTurns;
}

export type ServiceCode = Awaited<ReturnType<typeof loadServiceCode>>;

/** Loads the code. `sources` is a folder like the engine's `src`. */
export async function loadServiceCode(sources: string) {
  const load = async <Name extends keyof Modules>(name: Name): Promise<Modules[Name]> =>
    (await import(pathToFileURL(join(sources, name)).href)) as Modules[Name];
  return {
    ...(await load("core/commands/decide.ts")),
    ...(await load("core/commands/draft.ts")),
    ...(await load("core/session.ts")),
    ...(await load("core/turn.ts")),
    ...(await load("turns/dispatcher.ts")),
    ...(await load("turns/leases.ts")),
    ...(await load("turns/running-turns.ts")),
  };
}
