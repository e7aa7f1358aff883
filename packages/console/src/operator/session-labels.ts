// Labels of session and turn states.

import type { AdminSessionStatus, AdminTurn, AdminTurnState } from "@colloquy/client/admin";
import type { Tone } from "./view-parts.tsx";

export const SESSION_TONES: Readonly<Record<AdminSessionStatus, Tone>> = {
  processing: "busy",
  waiting: "warning",
  stuck: "bad",
  failed: "bad",
  idle: "quiet",
};

const TURN_TONES: Readonly<Record<AdminTurnState, Tone>> = {
  queued: "quiet",
  running: "busy",
  waiting: "warning",
  complete: "good",
  interrupted: "warning",
  failed: "bad",
};

export function turnTone({ state, stuck }: AdminTurn): Tone {
  return stuck === null ? TURN_TONES[state] : "bad";
}

/** Returns true if there is something to interrupt. */
export function isOpen({ state }: AdminTurn): boolean {
  return state === "queued" || state === "running" || state === "waiting";
}

/** Returns why the turn failed or is stuck, or `null`. */
export function problemOfTurn({ error, stuck }: AdminTurn): string | null {
  return stuck ?? error;
}
