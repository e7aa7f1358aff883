import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";

const ACCEPTED = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * Gives requests their ids: the client's own `X-Request-Id` when it is 1 to 128 of `A-Za-z0-9._-`, else a random
 * prefix of this process and a count (contract section 6).
 */
export function requestIds(): (message: IncomingMessage | null) => string {
  const prefix = randomBytes(6).toString("hex");
  let count = 0;
  return (message) => {
    const own = message?.headers["x-request-id"];
    if (typeof own === "string" && ACCEPTED.test(own)) return own;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
