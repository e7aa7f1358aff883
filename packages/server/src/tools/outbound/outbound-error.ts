/**
 * - `refused`: the guard does not let the request go.
 * - `unreachable`: no connection came about, so nothing was sent.
 * - `failed`, `timeout`: it broke on its way; what was sent may have had its effect.
 * - `too_large`: the answer is beyond its limit.
 */
export type OutboundFailure = "refused" | "unreachable" | "failed" | "timeout" | "too_large";

/** Why an outbound request has no answer. The message is a sentence for a model: it names a host, never an address behind it or a header. */
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

/** What a rejection of fetch, or of its body, means for a request to `host`. */
export function describeFailure(host: string, error: unknown): OutboundError {
  const chain = causes(error);
  const own = chain.find((cause) => cause instanceof OutboundError);
  if (own !== undefined) return own;
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

/** The error and what caused it, outermost first; of several attempts to connect, each. */
function causes(error: unknown, depth = 0): Error[] {
  if (!(error instanceof Error) || depth > 8) return [];
  const attempts: unknown[] = error instanceof AggregateError ? error.errors : [];
  return [error, ...[error.cause, ...attempts].flatMap((cause) => causes(cause, depth + 1))];
}
