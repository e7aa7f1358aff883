/**
 * What happens to a command's draft: `commit` writes it; `void` drops it and answers with the session as it was; `hidden` drops it and never
 * loads the session, because it belongs to another App.
 */
export type Disposition = "commit" | "void" | "hidden";

const DISPOSITIONS = {
  ok: "commit",
  other_app: "hidden",
  app_mismatch: "hidden",
  wallet_mismatch: "void",
  user_state_too_large: "void",
  session_busy: "void",
  queue_full: "void",
  session_full: "void",
  idempotency_key_reused: "void",
  unknown: "void",
  invalid: "void",
  decided_otherwise: "void",
  cancelled: "void",
} as const satisfies Readonly<Record<string, Disposition>>;

/** Returns the disposition of an outcome that is one word. The compiler asks for a line above for each new one. */
export function dispositionOf(outcome: keyof typeof DISPOSITIONS): Disposition {
  return DISPOSITIONS[outcome];
}
