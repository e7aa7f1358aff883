// What becomes of a draft when it was decided. The store asks, so that it knows no outcome by its name.

/**
 * `kept`: the draft is written. `void`: it leaves no trace, and the session is answered as it was. `hidden`: as `void`, and the session is not
 * loaded either, because it belongs to another App than the one that was asked for.
 */
export type Fate = "kept" | "void" | "hidden";

/** Outcomes in one word: that all is well, or why not. */
const FATES = {
  ok: "kept",
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
} as const satisfies Readonly<Record<string, Fate>>;

/** The compiler asks here for each outcome that is new. */
export function fateOf(outcome: keyof typeof FATES): Fate {
  return FATES[outcome];
}
