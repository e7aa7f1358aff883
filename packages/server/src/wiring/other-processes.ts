// What a service needs where other processes use its store too (docs/adr/0020): another look at what memory holds, and a bus that loses
// nothing. A process that is alone needs none of it.

import { PolledBus } from "../bus/polled-bus.ts";
import type { Bus } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { CatchUp } from "../sessions/catch-up.ts";
import type { Session } from "../sessions/session.ts";
import { VersionReads } from "../sessions/version-reads.ts";

export interface OtherProcesses {
  readonly bus: Bus;
  readonly versions: VersionReads | null;
  readonly catchUp: CatchUp | null;
}

export interface OtherProcessesOptions {
  readonly store: Store;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isAlone: boolean;
  /** Whether a turn of the session runs in this process. */
  readonly isWorkedOn: (session: Session) => boolean;
  /** The session has come to this epoch: what runs here for an older one has to stop. */
  readonly supersede: (session: Session, epoch: number) => void;
  /** Lives of a session that this process knows. */
  readonly incarnations: (sessionId: string) => readonly string[];
}

export function createOtherProcesses(options: OtherProcessesOptions): OtherProcesses {
  const { store, bus, clock, logger, isAlone, isWorkedOn, supersede, incarnations } = options;
  if (isAlone) return { bus, versions: null, catchUp: null };
  const versions = new VersionReads(store.sessions);
  const catchUp = new CatchUp({
    versions,
    events: store.events,
    sessions: store.sessions,
    isWorkedOn,
    supersede,
  });
  const version = (id: string) => versions.of(id);
  return { bus: new PolledBus({ bus, clock, logger, version, incarnations }), versions, catchUp };
}
