// The contract within one process needs no server. postgres-transport.test.ts and nats-transport.test.ts run
// the contract between nodes.

import { createSystemClock } from "../wiring/clock.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import { ClusterBus } from "./cluster-bus.ts";
import { ProcessEventHub } from "./event-hub.ts";
import { describeHub } from "./hub.suite.ts";
import { NatsTransport } from "./nats-transport.ts";
import { PostgresTransport } from "./postgres-transport.ts";
import type { Transport } from "./transport.ts";

// No server listens on this port.
const NOBODY = "127.0.0.1:1";

function hubOver(transport: Transport, clock: Clock, logger: Logger): ProcessEventHub {
  const bus = new ClusterBus({ node: "a", transport, clock, logger });
  return new ProcessEventHub({ bus, clock, logger, versions: null });
}

describeHub("among others over PostgreSQL, which is unreachable", (logger) => {
  const clock = createSystemClock();
  const transport = new PostgresTransport({ url: `postgres://${NOBODY}/x`, clock, logger });
  return hubOver(transport, clock, logger);
});

describeHub("among others over NATS, which is unreachable", (logger) => {
  const clock = createSystemClock();
  const transport = new NatsTransport({ url: `nats://${NOBODY}`, namespace: "x", clock, logger });
  return hubOver(transport, clock, logger);
});
