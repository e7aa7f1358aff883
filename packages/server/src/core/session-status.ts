import type { SessionStatus } from "@colloquy/protocol";

export type SessionTrigger = "chat" | "turn_ended_queue_empty" | "turn_ended_queue_not_empty" | "interrupt";

/** The table of contract section 3. */
const NEXT: Readonly<Record<SessionStatus, Readonly<Record<SessionTrigger, SessionStatus | "impossible">>>> =
  {
    idle: {
      chat: "processing",
      turn_ended_queue_empty: "impossible",
      turn_ended_queue_not_empty: "impossible",
      interrupt: "idle",
    },
    processing: {
      chat: "processing",
      turn_ended_queue_empty: "idle",
      turn_ended_queue_not_empty: "processing",
      interrupt: "interrupted",
    },
    interrupted: {
      chat: "processing",
      turn_ended_queue_empty: "impossible",
      turn_ended_queue_not_empty: "impossible",
      interrupt: "interrupted",
    },
  };

/** Returns the status after `trigger`. Throws on an impossible transition, which is a defect, never caused by input. */
export function nextStatus(status: SessionStatus, trigger: SessionTrigger): SessionStatus {
  const next = NEXT[status][trigger];
  if (next === "impossible") throw new Error(`A session that is ${status} cannot see "${trigger}"`);
  return next;
}
