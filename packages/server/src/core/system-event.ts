import type { SystemEvent } from "@colloquy/protocol";

/** Snapshots show this many system events, the newest (contract section 2). */
export const SYSTEM_EVENTS_SHOWN = 100;

/** A system event as it is kept: the wire item and the number of the event that announced it. */
export interface SystemEventRecord {
  readonly number: number;
  readonly item: SystemEvent;
}
