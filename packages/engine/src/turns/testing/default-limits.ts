import type { TurnLimits } from "../running-turns.ts";

const MINUTE = 60_000;

/** The limits of the contract (section 3). */
export const DEFAULT_LIMITS: TurnLimits = {
  turnMs: 10 * MINUTE,
  idleMs: 5 * MINUTE,
  maxSteps: 20,
  toolMs: MINUTE,
  maxModelRetries: 3,
  actionMs: 10 * MINUTE,
};
