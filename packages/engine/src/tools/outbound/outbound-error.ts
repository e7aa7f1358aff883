import { EncodingRefused } from "../../core/bounded-body.ts";
import { ProxyFailure } from "../../core/proxies.ts";

/**
 * - `refused`: the guard does not allow the request.
 * - `unreachable`: no connection was made, so nothing was sent.
 * - `failed`, `timeout`: the request failed after it was sent, and may have had its effect.
 * - `too_large`: the response exceeds its limit.
 */
export type OutboundFailure = "refused" | "unreachable" | "failed" | "timeout" | "too_large";

/**
 * A failed outbound request. The message is shown to a model: it names the host, and never an address or a
 * header.
 */
export class OutboundError extends Error {
  readonly kind: OutboundFailure;

  constructor(kind: OutboundFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OutboundError";
    this.kind = kind;
  }
}

const unreachable: Readonly<Record<string, string>> = {
  ENOTFOUND: "there is no such host",
  EAI_AGAIN: "its name could not be resolved",
  EAI_NODATA: "there is no such host",
  ECONNREFUSED: "nothing answers there",
  EHOSTUNREACH: "there is no way to it",
  ENETUNREACH: "there is no way to it",
  EADDRNOTAVAIL: "there is no way to it",
  ETIMEDOUT: "it does not answer",
  UND_ERR_CONNECT_TIMEOUT: "it does not answer",
};

const certificateCodes =
  /^(?:ERR_TLS|ERR_SSL|CERT|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO)/;

/** Maps a rejection of `fetch`, or of its body, to an `OutboundError` for `host`. */
export function describeFailure(host: string, error: unknown): OutboundError {
  const chain = causes(error);
  const own = chain.find((cause) => cause instanceof OutboundError);
  if (own !== undefined) return own;
  const proxy = chain.find((cause) => cause instanceof ProxyFailure);
  if (proxy !== undefined) {
    const why = `${host} cannot be reached: ${proxy.publicReason}.`;
    return new OutboundError("unreachable", why, { cause: error });
  }
  const encoding = chain.find((cause) => cause instanceof EncodingRefused);
  if (encoding !== undefined) {
    return new OutboundError("failed", `The answer of ${host} cannot be read. ${encoding.message}`, {
      cause: error,
    });
  }
  for (const { code } of chain as readonly { readonly code?: unknown }[]) {
    if (typeof code !== "string") continue;
    const why = certificateCodes.test(code)
      ? `no secure connection could be made (${code})`
      : unreachable[code];
    if (why !== undefined) {
      return new OutboundError("unreachable", `${host} cannot be reached: ${why}.`, { cause: error });
    }
  }
  return new OutboundError("failed", `The connection to ${host} broke before the answer was complete.`, {
    cause: error,
  });
}

/** Returns the error and its causes, outermost first, including each attempt of an `AggregateError`. */
function causes(error: unknown, depth = 0): Error[] {
  if (!(error instanceof Error) || depth > 8) return [];
  const attempts: unknown[] = error instanceof AggregateError ? error.errors : [];
  return [error, ...[error.cause, ...attempts].flatMap((cause) => causes(cause, depth + 1))];
}
