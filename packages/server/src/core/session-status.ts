import type { SessionStatus } from "@colloquy/protocol";

export type SessionTrigger = "chat" | "turn_ended_queue_empty" | "turn_ended_queue_not_empty" | "interrupt";

/** Contract section 3, word for word. */
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

/** The status after `trigger`. Throws on a transition that the table calls impossible: a defect, never an input. */
export function nextStatus(status: SessionStatus, trigger: SessionTrigger): SessionStatus {
  const next = NEXT[status][trigger];
  if (next === "impossible") throw new Error(`A session that is ${status} cannot see "${trigger}"`);
  return next;
}
