// Sends a classified operation as a caller.

import { open, send, type Call } from "../black-box/client.ts";
import type { ClassifiedOperation, Target } from "./classified-operations.ts";

export interface Answer {
  readonly status: number;
  /** Headers and body of the response. */
  readonly text: string;
}

type Headers = NonNullable<Call["headers"]>;

/** Sends an operation with the headers of a caller. `name` begins with the method. */
export async function sendOperation(
  url: string,
  name: string,
  operation: ClassifiedOperation,
  target: Target,
  headers: Headers,
): Promise<Answer> {
  const [method = ""] = name.split(" ");
  const call: Call = {
    ...operation.call,
    ...(operation.body !== undefined && { json: operation.body(target) }),
    ...(operation.hasNoSession !== true && { session: target.conversation.session }),
    headers: { ...operation.call?.headers, ...operation.headers?.(target), ...headers },
  };
  const path = operation.path(target);
  const { streams } = operation;
  if (streams !== undefined && method !== "HEAD") return await readStream(url, method, path, call, streams);
  const answer = await send(url, method, path, call);
  if (operation.begins === true && answer.status === 200)
    await send(url, "GET", "/api/state", {
      ...call,
      json: undefined,
      headers: { ...call.headers, Prefer: "wait=20" },
    });
  return { status: answer.status, text: JSON.stringify(answer.headers) + answer.text };
}

/** Reads the stream up to the session's current last event, or to a text. */
async function readStream(
  url: string,
  method: string,
  path: string,
  call: Call,
  last: true | string,
): Promise<Answer> {
  const message = await open(url, method, path, call);
  const status = message.statusCode ?? 0;
  let text = JSON.stringify(message.headers);
  const { Accept: _accept, ...headers } = call.headers ?? {};
  const state = status === 200 ? await send(url, "GET", "/api/state", { ...call, headers }) : null;
  const head = state === null ? null : (state.json() as { readonly last_event_id: string }).last_event_id;
  const end = last === true ? `id: ${head}\n` : last;
  message.setEncoding("utf8");
  for await (const chunk of message) {
    text += String(chunk);
    if (head !== null && text.includes(end)) break;
  }
  message.destroy();
  return { status, text };
}
