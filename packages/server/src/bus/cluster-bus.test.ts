// The contract within one process needs no server. postgres-transport.test.ts and nats-transport.test.ts run
// the contract between nodes.

import { createSystemClock } from "../wiring/clock.ts";
import { describeBus } from "./bus.suite.ts";
import { ClusterBus } from "./cluster-bus.ts";
import { NatsTransport } from "./nats-transport.ts";
import { PostgresTransport } from "./postgres-transport.ts";

// No server listens on this port.
const NOBODY = "127.0.0.1:1";

describeBus("among others over PostgreSQL, which is unreachable", (logger) => {
  const clock = createSystemClock();
  const transport = new PostgresTransport({ url: `postgres://${NOBODY}/x`, clock, logger });
  return new ClusterBus({ node: "a", transport, clock, logger });
});

describeBus("among others over NATS, which is unreachable", (logger) => {
  const clock = createSystemClock();
  const transport = new NatsTransport({ url: `nats://${NOBODY}`, namespace: "x", clock, logger });
  return new ClusterBus({ node: "a", transport, clock, logger });
});
