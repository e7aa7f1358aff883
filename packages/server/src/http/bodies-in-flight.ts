// Bounds the bytes of request bodies that the process is receiving, per address and in all.

import { ServiceError, Unavailable } from "@colloquy/engine/internal/core/errors";
import { BODY_MAX_BYTES } from "./problem.ts";

const RETRY_SECONDS = 2;
/** Share of the bytes in all that bodies of more than 64 KiB may use, so that ordinary requests pass beside them. */
const LARGE_SHARE = 0.75;

export interface BodyLimits {
  /** Bytes of one address; `null` for no limit. */
  readonly perAddress: number | null;
  readonly inAll: number;
}

/** A body that is being received. */
export interface BodyInFlight {
  /** @throws ServiceError 429 or 503 if the bytes that have arrived exceed a limit */
  grow(bytes: number): void;
  /** Gives the bytes back. Further calls do nothing. */
  release(): void;
}

/**
 * Counts an address by `Content-Length`, before its bytes arrive, and all addresses together by the bytes that
 * have arrived: clients that announce bodies without sending them must not keep others out. The only body of
 * an address, and the only one of the process, always pass, so that each limit is independent of the largest body.
 */
export class BodiesInFlight {
  readonly #limits: BodyLimits;
  readonly #ofAddress = new Map<string, number>();
  #arrived = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Bytes that have arrived of bodies that are not released. */
  get arrived(): number {
    return this.#arrived;
  }

  /** Number of addresses with a body in flight. */
  get addresses(): number {
    return this.#ofAddress.size;
  }

  /** @throws ServiceError 429 if the announced bytes exceed the limit of the address */
  open(address: string, announced: number): BodyInFlight {
    let reserved = 0;
    let received = 0;
    let isReleased = false;
    const reserve = (bytes: number): void => {
      const before = this.#ofAddress.get(address) ?? 0;
      const { perAddress } = this.#limits;
      if (perAddress !== null && before > reserved && before + bytes > perAddress)
        throw ofAddress(perAddress);
      this.#ofAddress.set(address, before + bytes);
      reserved += bytes;
    };
    reserve(announced);
    return {
      grow: (bytes) => {
        if (received + bytes > reserved) reserve(received + bytes - reserved);
        const share = received + bytes > BODY_MAX_BYTES ? LARGE_SHARE : 1;
        if (this.#arrived > received && this.#arrived + bytes > this.#limits.inAll * share) throw inAll();
        received += bytes;
        this.#arrived += bytes;
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#arrived -= received;
        const left = (this.#ofAddress.get(address) ?? 0) - reserved;
        if (left > 0) this.#ofAddress.set(address, left);
        else this.#ofAddress.delete(address);
      },
    };
  }
}

function ofAddress(limit: number): ServiceError {
  const detail = `Bodies of one address may have ${limit} bytes together while they arrive. Send this one again when others have arrived.`;
  return new ServiceError(429, "rate_limited", detail, { headers: { "retry-after": String(RETRY_SECONDS) } });
}

function inAll(): ServiceError {
  const detail =
    "The server is receiving too many large requests. Send this one again after the seconds in Retry-After.";
  return new Unavailable(503, "too_many_bodies", detail, RETRY_SECONDS);
}
