// How an owner uses its monotonic clock, measured once for every age of a request: the real dispatcher and
// leases run on a manual clock, and the model looks up the results.

import type { CommandStore, Renewal, TurnStore } from "@colloquy/engine/internal/core/ports/driven/store";
import type { Committed } from "@colloquy/engine/internal/core/ports/driven/session-store";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { StartedTurn } from "@colloquy/engine/internal/core/turn";
import type { RunningTurn, RunningTurns } from "@colloquy/engine/internal/turns/running-turns";
import { startedTurn } from "@colloquy/engine/internal/turns/testing/started-turn";
import { ManualClock } from "../manual-clock.ts";
import type { ServiceCode } from "./service-code.ts";

/** The model's unit of time in milliseconds; the lease time and the trusted time are multiples of it. */
export const UNIT_MS = 2_000;
/** Units within which an awake owner checks its clock; the service checks more often. */
const LOOKS_WITHIN = 1;

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

/** In units of time; `held` is how long an owner still trusts a lease, negative once it no longer does. */
export interface OwnerClock {
  /** Whether its time passes like the database's. */
  readonly isReliable: boolean;
  /** Requests of this age and older behave the same. */
  readonly oldest: number;
  readonly leastHeld: number;
  /** Returns the trusted time of a turn whose claim was sent `age` ago. */
  heldAfterClaim(age: number): number;
  /** Returns the trusted time after a successful renewal that was sent `age` ago. */
  heldAfterRenewal(age: number): number;
  /** Returns whether an owner, awake for a unit, has stopped a turn with this much trusted time. */
  stops(held: number): boolean;
}

/**
 * A clock that may stop or jump, like that of a suspended machine: its owner may stop at any time, or never.
 */
export const UNRELIABLE: OwnerClock = {
  isReliable: false,
  oldest: 0,
  leastHeld: 0,
  heldAfterClaim: () => 0,
  heldAfterRenewal: () => 0,
  stops: () => true,
};

export async function tryOwnerClock(code: ServiceCode): Promise<OwnerClock> {
  const hold = code.HOLD_MS / UNIT_MS;
  const leastHeld = -LOOKS_WITHIN;
  const oldest = hold - leastHeld;
  const ages = Array.from({ length: oldest + 1 }, (_, age) => age);
  const claimed = await Promise.all(ages.map((age) => claimAgo(code, age)));
  const renewed = await Promise.all(ages.map((age) => renewedAgo(code, age)));
  const stopping = new Set<number>();
  for (let held = leastHeld; held <= hold; held += 1) {
    if (await stopsWith(code, held)) stopping.add(held);
  }
  return {
    isReliable: true,
    oldest,
    leastHeld,
    heldAfterClaim: (age) => at(claimed, age),
    heldAfterRenewal: (age) => at(renewed, age),
    stops: (held) => stopping.has(held),
  };
}

function at(values: readonly number[], age: number): number {
  const value = values[age];
  if (value === undefined || !Number.isInteger(value)) throw new Error(`No measurement for age ${age}`);
  return value;
}

async function claimAgo(code: ServiceCode, age: number): Promise<number> {
  const clock = new ManualClock();
  const running = new code.RunningTurns({ total: 1, byProvider: {} });
  const turn = startedTurn();
  const answer = Promise.withResolvers<readonly Committed<StartedTurn | null>[]>();
  const store: Pick<TurnStore, "countWaiting" | "releaseDeadLeases"> = {
    countWaiting: async () => 0,
    releaseDeadLeases: async () => 0,
  };
  const dispatcher = new code.Dispatcher({
    store: store as TurnStore,
    commands: { executeEach: (() => answer.promise) as CommandStore["executeEach"] },
    running,
    clock,
    owner: "me",
    logger: SILENT,
    runner: { run: () => new Promise(() => undefined) },
    apps: { names: () => [], get: () => null },
    registry: { apply: () => undefined },
    maxWaiting: 10,
    isAlone: false,
    hub: { notifyWork: () => undefined },
  });
  dispatcher.workArrived();
  await clock.advance(age * UNIT_MS);
  answer.resolve([{ outcome: turn } as Committed<StartedTurn>]);
  await clock.advance(0);
  return heldBy(running, clock);
}

async function renewedAgo(code: ServiceCode, age: number): Promise<number> {
  const { clock, leases, answer, running } = owning(code, Number.MAX_SAFE_INTEGER);
  const renewed = leases.renew();
  await clock.advance(age * UNIT_MS);
  answer.resolve({ renewed: [1], busy: [] });
  await renewed;
  return heldBy(running, clock);
}

async function stopsWith(code: ServiceCode, held: number): Promise<boolean> {
  const { clock, leases, turn } = owning(code, (held + LOOKS_WITHIN) * UNIT_MS);
  leases.start();
  await clock.advance(LOOKS_WITHIN * UNIT_MS);
  leases.stop();
  return turn.controller.signal.aborted;
}

/** An owner of one turn whose renewal the test answers. */
function owning(code: ServiceCode, heldUntil: number) {
  const clock = new ManualClock();
  const running = new code.RunningTurns({ total: 1, byProvider: {} });
  const turn: RunningTurn = { turn: startedTurn(), controller: new AbortController(), heldUntil };
  running.reserve(1);
  running.add(turn);
  const answer = Promise.withResolvers<Renewal>();
  const store: Pick<TurnStore, "renew" | "releaseDeadLeases"> = {
    renew: () => answer.promise,
    releaseDeadLeases: async () => 0,
  };
  const leases = new code.Leases({
    store: store as TurnStore,
    running,
    clock,
    owner: "me",
    logger: SILENT,
    isAlone: false,
    onReleased: () => undefined,
  });
  return { clock, leases, answer, running, turn };
}

function heldBy(running: RunningTurns, clock: ManualClock): number {
  const turn = running.all()[0];
  if (turn === undefined) throw new Error("The turn is not running");
  return (turn.heldUntil - clock.monotonic()) / UNIT_MS;
}
