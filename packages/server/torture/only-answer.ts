// Interprets the only response to a message that was sent once without an `Idempotency-Key`.

import type { Answer } from "./harness/http-request.ts";

/**
 * `shown`: stored, and in the snapshot. `stored`: stored. `refused`, `unchanged`: not stored. `unknown`:
 * stored, not stored, or stored later. `wrong`: not allowed for a chat.
 */
export type OnlyAnswer = "shown" | "stored" | "refused" | "unchanged" | "unknown" | "wrong";

/** `null` means that the connection broke or timed out. */
export function readOnlyAnswer(answer: Pick<Answer, "status" | "body"> | null): OnlyAnswer {
  if (answer === null) return "unknown";
  if (answer.status === 200) return "shown";
  if (answer.status === 429) return "refused";
  if (answer.status !== 503) return "wrong";
  if (answer.body.includes("nothing was changed")) return "unchanged";
  return answer.body.includes("What you sent was stored") ? "stored" : "unknown";
}
