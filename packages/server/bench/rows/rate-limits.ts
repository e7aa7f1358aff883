// Cost of rate limits per request: compares a server with limits (behind a trusted proxy) with the same
// server without (on a loopback bind).

import { getRequest, randomSessionId, type RequestPlan } from "../load/requests.ts";
import type { Row } from "../table.ts";
import { compareFeature } from "./compare.ts";
import type { RowContext } from "./row.ts";
import { makeSmallSession } from "./state.ts";

/**
 * Minimum ratio of the throughput with limits; tolerates noise, but is high enough to detect a budget that
 * reads a store or copies data.
 */
const LEAST = 0.9;

/** Counts in more budgets than other requests: a new session in one more, a message in two more. */
const CHAT: RequestPlan = { kind: "chat", messagesPerSession: 10, prefer: null, text: "park+this+turn" };

export async function measureRateLimits(context: RowContext): Promise<readonly Row[]> {
  const limited = { feature: { isRateLimited: true }, least: LEAST };
  return [
    await compareFeature(context, {
      ...limited,
      name: "state of a session of 2 KB, rate-limited, against the same without limits",
      prepare: async (port) => {
        const sessionId = randomSessionId();
        await makeSmallSession(context, port, sessionId);
        return { kind: "fixed", request: getRequest("/api/state", sessionId) };
      },
    }),
    await compareFeature(context, {
      ...limited,
      name: "chat accepted and durable, rate-limited, against the same without limits",
      prepare: () => Promise.resolve(CHAT),
    }),
  ];
}
