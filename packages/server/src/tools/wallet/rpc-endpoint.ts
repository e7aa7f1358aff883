// JSON-RPC over HTTP. Not viem's transport: its errors quote the URL, its timeout does not cover the response
// body, and it follows redirects.

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
  /** Name of the server in messages, for instance "Ethereum (chain 1)". */
  readonly label: string;
  readonly clock: Clock;
}

const rpcTimeoutMs = 10_000;
const pauseBeforeRepeatMs = 250;
const maximumAnswerBytes = 1_024 * 1_024;
const transientStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A failure that a retry may fix. */
class TransientFailure extends RpcUnavailable {}

/** Each attempt has 10 s, responses have 1 MiB; retries once if the server is unreachable or busy. */
export function createRpcEndpoint(options: RpcEndpointOptions): RpcRequest {
  const clean = createUrlCleaner(options.url.reveal());
  return async (method, params, signal) => {
    const send = (): Promise<unknown> => sendOnce(options, clean, { method, params }, signal);
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
  { url, label, clock }: RpcEndpointOptions,
  clean: (text: string) => string,
  call: { readonly method: string; readonly params: readonly unknown[] },
  signal: AbortSignal,
): Promise<unknown> {
  const late = new AbortController();
  const timer = clock.after(rpcTimeoutMs, () => late.abort());
  try {
    const response = await post(url.reveal(), call, AbortSignal.any([signal, late.signal]));
    return readAnswer(response, await readText(response, label), label, clean);
  } catch (error) {
    if (error instanceof RpcUnavailable || error instanceof RpcRefusal) throw error;
    if (signal.aborted) throw signal.reason;
    if (late.signal.aborted) {
      throw new RpcUnavailable(`The RPC server of ${label} did not answer within ${rpcTimeoutMs / 1_000} s.`);
    }
    // Without the cause, which may quote the URL.
    throw new TransientFailure(`The RPC server of ${label} cannot be reached${codeOf(error)}.`);
  } finally {
    timer.stop();
  }
}

async function post(url: string, call: object, signal: AbortSignal): Promise<Response> {
  const target = new URL(url);
  const headers = new Headers({ "content-type": "application/json", accept: "application/json" });
  if (target.username !== "" || target.password !== "") {
    const user = `${decodeURIComponent(target.username)}:${decodeURIComponent(target.password)}`;
    headers.set("authorization", `Basic ${Buffer.from(user).toString("base64")}`);
    target.username = "";
    target.password = "";
  }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...call });
  return await fetch(target, { method: "POST", headers, body, signal, redirect: "manual" });
}

async function readText(response: Response, label: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop closes the connection.
    if (size > maximumAnswerBytes)
      throw new RpcUnavailable(`The RPC server of ${label} answered with more than 1 MiB.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function readAnswer(
  response: Response,
  text: string,
  label: string,
  clean: (text: string) => string,
): unknown {
  const failedWith = `The RPC server of ${label} answered with the status ${response.status}.`;
  if (transientStatuses.has(response.status)) throw new TransientFailure(failedWith);
  const answer = parseQuietly(text);
  if (isJsonObject(answer) && isJsonObject(answer["error"])) {
    const { message, code, data } = answer["error"];
    // Some servers nest the revert data one level deeper.
    const said = isJsonObject(data) ? data["data"] : data;
    const words = plainLine(clean(typeof message === "string" ? message : "no reason given"));
    throw new RpcRefusal(words, typeof code === "number" ? code : 0, isHexBytes(said) ? said : null);
  }
  if (!response.ok) throw new RpcUnavailable(failedWith);
  if (!isJsonObject(answer) || answer["result"] === undefined) {
    throw new RpcUnavailable(`The RPC server of ${label} answered with something that is not JSON-RPC.`);
  }
  return answer["result"];
}

/** Returns true for bytes in JSON-RPC notation. */
export function isHexBytes(value: unknown): value is `0x${string}` {
  return typeof value === "string" && /^0x(?:[0-9a-fA-F]{2})*$/.test(value);
}

function parseQuietly(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Returns the error code of a failed connection (`ECONNREFUSED`), which does not reveal the address. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null;
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  return typeof code === "string" && /^[A-Z_]+$/.test(code) ? ` (${code})` : "";
}
