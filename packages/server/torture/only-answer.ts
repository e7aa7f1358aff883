// What the answer to a message means that is sent once, without an `Idempotency-Key`: whoever reads it has nothing else to go by.

import type { Answer } from "./harness/http-request.ts";

/**
 * `shown`: it is stored, and in the snapshot. `stored`: it is stored. `refused`, `unchanged`: it is not. `unknown`: it is or it is not, or
 * will be. `wrong`: an answer that a chat must not get.
 */
export type OnlyAnswer = "shown" | "stored" | "refused" | "unchanged" | "unknown" | "wrong";

/** `null` stands for a connection that broke or did not answer in time. */
export function readOnlyAnswer(answer: Pick<Answer, "status" | "body"> | null): OnlyAnswer {
  if (answer === null) return "unknown";
  if (answer.status === 200) return "shown";
  if (answer.status === 429) return "refused";
  if (answer.status !== 503) return "wrong";
  if (answer.body.includes("nothing was changed")) return "unchanged";
  return answer.body.includes("What you sent was stored") ? "stored" : "unknown";
}
