// Limits on concurrent event streams and connections, in this process or in all nodes together (ADR 19).

import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Counter, type Registry } from "prom-client";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import type { RateCounters } from "@colloquy/engine/internal/core/ports/driven/rate-counters";
import { addressKey, trustedProxies } from "./client-address.ts";
import type { HttpConfig } from "./edge.ts";
import { refuseAtOnce } from "./parser-errors.ts";

const RETRY = { headers: { "retry-after": "10" } };

/** Limits the slots of each key in this process. */
export class ConcurrencyLimit {
  readonly #limit: number;
  readonly #held = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a slot. @throws ServiceError 429 if the key holds all of its slots */
  acquire(key: string, what: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held >= this.#limit) throw limitReached(this.#limit, what);
    this.#held.set(key, held + 1);
  }

  release(key: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held <= 1) this.#held.delete(key);
    else this.#held.set(key, held - 1);
  }
}

/** Limits the slots of each key over all nodes. */
export class SharedConcurrencyLimit {
  readonly #counters: RateCounters;
  readonly #name: string;
  readonly #limit: number;
  readonly #refusal: (limit: number, what: string) => ServiceError;

  /** @param name Distinguishes the keys of this limit from those of others. */
  constructor(counters: RateCounters, name: string, limit: number, refusal = limitReached) {
    this.#counters = counters;
    this.#name = name;
    this.#limit = limit;
    this.#refusal = refusal;
  }

  /** Takes a slot. @throws ServiceError 429 if the key holds all of its slots, 503 if they cannot be counted */
  async acquire(key: string, what: string): Promise<void> {
    if (!(await this.#counters.hold(`${this.#name} ${key}`, this.#limit)))
      throw this.#refusal(this.#limit, what);
  }

  release(key: string): void {
    this.#counters.release(`${this.#name} ${key}`);
  }
}

function limitReached(limit: number, what: string): ServiceError {
  const detail = `At most ${limit} ${what} are allowed at the same time. Close one first.`;
  return new ServiceError(429, "rate_limited", detail, RETRY);
}

interface ConnectionCap {
  readonly config: Pick<HttpConfig, "trustedProxies" | "rateLimits">;
  /** If false, no connection is refused. */
  readonly isPublic: boolean;
  readonly register: Registry;
  readonly nextId: () => string;
}

/**
 * Refuses connections beyond an address's limit with 429, before reading from them. Connections of a trusted
 * proxy carry many clients and are not counted.
 */
export function capConnections(server: Server, { config, isPublic, register, nextId }: ConnectionCap): void {
  const isProxy = trustedProxies(config.trustedProxies);
  const limit = new ConcurrencyLimit(config.rateLimits.connectionsPerAddress);
  const refused = new Counter({
    name: "colloquy_connections_refused_total",
    help: "Connections that were refused because their address had too many open",
    registers: [register],
  });
  if (!isPublic) return;
  server.on("connection", (socket: Socket) => {
    if (isProxy(socket.remoteAddress)) return;
    const address = addressKey(socket.remoteAddress);
    try {
      limit.acquire(address, "connections of one address");
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      refused.inc();
      refuseAtOnce(error, socket, nextId());
      return;
    }
    socket.once("close", () => limit.release(address));
  });
}
