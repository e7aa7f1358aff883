// A client of all nodes, as a plain load balancer makes one: each request meets the next of them, whatever state that is in.

import { createHttpClient, type HttpClient } from "../harness/http-request.ts";

/** A request that is not answered by then is sent to the next node. */
const GIVE_UP_MS = 5_000;

export interface RoundRobin extends HttpClient {
  /** Port of the node whose turn it is. */
  nextPort(): number;
}

export function createRoundRobin(ports: readonly number[]): RoundRobin {
  const clients = ports.map((port) => createHttpClient(port));
  let turn = 0;
  const next = <Item>(items: readonly Item[]): Item => {
    const item = items[turn % items.length];
    turn += 1;
    if (item === undefined) throw new Error("There are no nodes");
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
