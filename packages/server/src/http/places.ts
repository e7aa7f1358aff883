// Places that are held for as long as something is open, such as event streams: in the memory of a process that is alone, or by all nodes
// together (ADR 19).

import type { Server } from "node:http";
import type { Socket } from "node:net";
import { Counter, type Registry } from "prom-client";
import { ServiceError } from "../core/errors.ts";
import type { RateCounters } from "../core/ports/driven/rate-counters.ts";
import { addressKey, trustedProxies } from "./client-address.ts";
import type { HttpConfig } from "./http-config.ts";
import { refuseAtOnce } from "./parser-errors.ts";

const PLACE_RETRY = { headers: { "retry-after": "10" } };

/** Lets each key hold a number of places at the same time. */
export class PlaceLimiter {
  readonly #limit: number;
  readonly #held = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a place. @throws ServiceError 429 when the key holds its number already */
  take(key: string, what: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held >= this.#limit) throw noPlaceLeft(this.#limit, what);
    this.#held.set(key, held + 1);
  }

  give(key: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held <= 1) this.#held.delete(key);
    else this.#held.set(key, held - 1);
  }
}

/** Lets each key hold a number of places at the same time, in all processes together. */
export class SharedPlaces {
  readonly #counters: RateCounters;
  readonly #name: string;
  readonly #limit: number;
  readonly #refusal: (limit: number, what: string) => ServiceError;

  /** `name` sets these places apart from others. */
  constructor(counters: RateCounters, name: string, limit: number, refusal = noPlaceLeft) {
    this.#counters = counters;
    this.#name = name;
    this.#limit = limit;
    this.#refusal = refusal;
  }

  /**
   * Takes a place.
   * @throws ServiceError 429 when the key holds its number already, 503 when it cannot be counted
   */
  async take(key: string, what: string): Promise<void> {
    if (!(await this.#counters.hold(`${this.#name} ${key}`, this.#limit)))
      throw this.#refusal(this.#limit, what);
  }

  give(key: string): void {
    this.#counters.release(`${this.#name} ${key}`);
  }
}

function noPlaceLeft(limit: number, what: string): ServiceError {
  const detail = `At most ${limit} ${what} are allowed at the same time. Close one first.`;
  return new ServiceError(429, "rate_limited", detail, PLACE_RETRY);
}

interface ConnectionCap {
  readonly config: Pick<HttpConfig, "trustedProxies" | "rateLimits">;
  /** If false, no connection is refused. */
  readonly isPublic: boolean;
  readonly register: Registry;
  readonly nextId: () => string;
}

/**
 * Refuses connections beyond an address's limit with 429, before reading from them. Connections of a trusted proxy carry many clients and
 * are not counted.
 */
export function capConnections(server: Server, { config, isPublic, register, nextId }: ConnectionCap): void {
  const isProxy = trustedProxies(config.trustedProxies);
  const places = new PlaceLimiter(config.rateLimits.connectionsPerAddress);
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
      places.take(address, "connections of one address");
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      refused.inc();
      refuseAtOnce(error, socket, nextId());
      return;
    }
    socket.once("close", () => places.give(address));
  });
}
