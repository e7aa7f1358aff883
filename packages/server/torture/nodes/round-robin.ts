// A client of all nodes, like a plain load balancer: each request goes to the next one, whatever its state.

import { createHttpClient, type HttpClient } from "../harness/http-request.ts";

/** A request without an answer by then is sent to the next node. */
const GIVE_UP_MS = 5_000;

export interface RoundRobin extends HttpClient {
  /** Port of the next node. */
  nextPort(): number;
}

export function createRoundRobin(ports: readonly number[]): RoundRobin {
  const clients = ports.map((port) => createHttpClient(port));
  let turn = 0;
  const next = <Item>(items: readonly Item[]): Item => {
    const item = items[turn % items.length];
    turn += 1;
    if (item === undefined) throw new Error("No nodes");
    return item;
  };
  return {
    request: (path, options) => next(clients).request(path, { timeoutMs: GIVE_UP_MS, ...options }),
    nextPort: () => next(ports),
    close: () => {
      for (const client of clients) client.close();
    },
  };
}
