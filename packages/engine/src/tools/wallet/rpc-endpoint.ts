// JSON-RPC over HTTP with viem's client, which sends the URL's credentials as a header. The client's errors quote the URL, so none of them leaves this file.

import { getHttpRpcClient, type HttpRpcClient } from "viem/utils";
import { boundResponses } from "../../core/bounded-body.ts";
import { isJsonObject } from "../../core/json.ts";
import type { Hidden } from "../../core/hidden.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import { createUrlCleaner, plainLine, RpcRefusal, RpcUnavailable } from "./rpc-failures.ts";

/** Sends one request. Rejects with `RpcUnavailable`, `RpcRefusal`, or the reason of an aborted signal. */
export type RpcRequest = (
  method: string,
  params: readonly unknown[],
  signal: AbortSignal,
) => Promise<unknown>;

export interface RpcEndpointOptions {
  readonly url: Hidden<string>;
  /** Name of the server in messages, such as "Ethereum (chain 1)". */
  readonly label: string;
  readonly clock: Clock;
}

const rpcTimeoutMs = 10_000;
const pauseBeforeRepeatMs = 250;
const maximumAnswerBytes = 1_024 * 1_024;
const transientStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A failure that a retry may fix. */
class TransientFailure extends RpcUnavailable {}
class AnswerTooLarge extends Error {}

/**
 * Creates a function that sends requests. Each attempt may take 10 s, and a response may have 1 MiB. Retries
 * once if the server is unreachable or busy.
 */
export function createRpcEndpoint(options: RpcEndpointOptions): RpcRequest {
  const url = options.url.reveal();
  const clean = createUrlCleaner(url);
  const client = getHttpRpcClient(url, {
    // `sendOnce` aborts on the service's clock, which also covers the response body.
    timeout: 0,
    maxResponseBodySize: false,
    fetchFn: boundResponses(fetch, () => ({
      maxBytes: maximumAnswerBytes,
      tooLarge: () => new AnswerTooLarge(),
    })),
  });
  return async (method, params, signal) => {
    const send = async (): Promise<unknown> =>
      readAnswer(await sendOnce(client, options, { method, params }, signal), options.label, clean);
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof TransientFailure)) throw error;
      await options.clock.sleep(pauseBeforeRepeatMs, signal);
      return await send();
    }
  };
}

async function sendOnce(
  client: HttpRpcClient,
  { label, clock }: RpcEndpointOptions,
  call: { readonly method: string; readonly params: readonly unknown[] },
  signal: AbortSignal,
): Promise<unknown> {
  const late = new AbortController();
  const timer = clock.after(rpcTimeoutMs, () => late.abort());
  let received: Response | null = null;
  try {
    return await client.request({
      body: call,
      fetchOptions: { redirect: "manual", signal: AbortSignal.any([signal, late.signal]) },
      async onResponse(response) {
        received = response;
        if (!transientStatuses.has(response.status)) return;
        await response.body?.cancel();
        throw new TransientFailure();
      },
    });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw describeFailure(error, received, label, late.signal.aborted);
  } finally {
    timer.stop();
  }
}

/** Maps an error of viem's client, without its cause, which may quote the URL. */
function describeFailure(
  error: unknown,
  received: Response | null,
  label: string,
  isLate: boolean,
): RpcUnavailable {
  if (isLate) {
    return new RpcUnavailable(`The RPC server of ${label} did not answer within ${rpcTimeoutMs / 1_000} s.`);
  }
  if (error instanceof Error && error.cause instanceof AnswerTooLarge) {
    return new RpcUnavailable(`The RPC server of ${label} answered with more than 1 MiB.`);
  }
  if (received !== null && !received.ok) {
    const message = `The RPC server of ${label} answered with the status ${received.status}.`;
    return transientStatuses.has(received.status)
      ? new TransientFailure(message)
      : new RpcUnavailable(message);
  }
  if (error instanceof Error && error.cause instanceof SyntaxError) return notJsonRpc(label);
  return new TransientFailure(`The RPC server of ${label} cannot be reached${codeOf(error)}.`);
}

function readAnswer(answer: unknown, label: string, clean: (text: string) => string): unknown {
  if (isJsonObject(answer) && isJsonObject(answer["error"])) {
    const { message, code, data } = answer["error"];
    // Some servers nest the revert data one level deeper.
    const said = isJsonObject(data) ? data["data"] : data;
    const words = plainLine(clean(typeof message === "string" ? message : "no reason given"));
    throw new RpcRefusal(words, typeof code === "number" ? code : 0, isHexBytes(said) ? said : null);
  }
  if (!isJsonObject(answer) || answer["result"] === undefined) throw notJsonRpc(label);
  return answer["result"];
}

function notJsonRpc(label: string): RpcUnavailable {
  return new RpcUnavailable(`The RPC server of ${label} returned a response that is not JSON-RPC.`);
}

/** Returns true for bytes in JSON-RPC notation. */
export function isHexBytes(value: unknown): value is `0x${string}` {
  return typeof value === "string" && /^0x(?:[0-9a-fA-F]{2})*$/.test(value);
}

/** Returns the error code of a failed connection (`ECONNREFUSED`), which does not reveal the address. */
function codeOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string" && /^[A-Z][A-Z0-9_]+$/.test(cause.code))
      return ` (${cause.code})`;
  }
  return "";
}
