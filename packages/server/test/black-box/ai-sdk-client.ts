// What `DefaultChatTransport` sends and reads, one request at a time: streams pass the AI SDK's own schema and fold.

import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { expect } from "vitest";
import { open, send, type Answer, type Call } from "./client.ts";

export function userMessage(text: string, id: string = randomUUID()): UIMessage {
  return { id, role: "user", parts: [{ type: "text", text }] };
}

/** Body of a request with these messages. */
export function bodyOf(id: string, messages: readonly unknown[], more: object = {}) {
  return { id, messages, trigger: "submit-message", ...more };
}

/** Sends a body of which a problem is expected. */
export function refused(url: string, body: unknown, call: Call = {}): Promise<Answer> {
  return send(url, "POST", "/api/ai-sdk/chat", { json: body, ...call });
}

/** Sends a chat and returns as soon as its stream begins. */
export async function openChat(url: string, body: object, call: Call = {}): Promise<ReadStream> {
  return readStream(await open(url, "POST", "/api/ai-sdk/chat", { json: body, ...call }));
}

/** Sends a chat and reads its whole stream. */
export async function chat(url: string, body: object, call: Call = {}): Promise<ReadStream> {
  const stream = await openChat(url, body, call);
  await stream.ended;
  return stream;
}

/** Replays the answer in progress; `null` if there is none. */
export async function resume(url: string, id: string, call: Call = {}): Promise<ReadStream | null> {
  const message = await open(url, "GET", `/api/ai-sdk/chat/${id}/stream`, call);
  if (message.statusCode === 204) return null;
  return readStream(message);
}

export async function messagesOf(url: string, id: string, call: Call = {}): Promise<UIMessage[]> {
  const answer = await send(url, "GET", `/api/ai-sdk/chat/${id}/messages`, call);
  expect(answer.status).toBe(200);
  return answer.json() as UIMessage[];
}

export interface ReadStream {
  readonly chunks: UIMessageChunk[];
  /** Resolves when the stream has ended with `[DONE]`; rejects if it breaks off. */
  readonly ended: Promise<void>;
  /** Resolves when a chunk has arrived that passes. */
  until(isWanted: (chunk: UIMessageChunk) => boolean): Promise<void>;
  /** Disconnects. */
  leave(): void;
  /** Folds the chunks over the message that the client has, as `useChat` does. */
  message(before?: UIMessage): Promise<UIMessage | undefined>;
}

function readStream(message: IncomingMessage): ReadStream {
  expect(message.statusCode).toBe(200);
  expect(message.headers).toMatchObject({
    "content-type": "text/event-stream",
    "x-vercel-ai-ui-message-stream": "v1",
    "cache-control": "no-store, no-transform",
  });
  const chunks: UIMessageChunk[] = [];
  const wake = new Set<() => void>();
  let failure: Error | null = null;
  let text = "";
  message.on("data", (bytes: Buffer) => (text += bytes.toString()));
  const ended = (async () => {
    const body = Readable.toWeb(message) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>;
    for await (const chunk of new Transport().read(body)) {
      chunks.push(chunk);
      for (const ring of wake) ring();
    }
    if (!text.endsWith("data: [DONE]\n\n")) throw new Error("The stream ended without [DONE]");
  })();
  ended.catch((error: Error) => {
    failure = error;
    for (const ring of wake) ring();
  });
  return {
    chunks,
    ended,
    leave: () => message.destroy(),
    async until(isWanted) {
      while (!chunks.some(isWanted)) {
        if (failure !== null) throw failure;
        const { promise, resolve } = Promise.withResolvers<void>();
        wake.add(resolve);
        await promise;
        wake.delete(resolve);
      }
    },
    async message(before) {
      let last: UIMessage | undefined;
      const stream = ReadableStream.from(chunks);
      const options = { stream, terminateOnError: false, ...(before !== undefined && { message: before }) };
      for await (const state of readUIMessageStream(options)) last = structuredClone(state);
      return last;
    },
  };
}

/** The transport's own parser, which validates each chunk. */
class Transport extends DefaultChatTransport<UIMessage> {
  read(body: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<UIMessageChunk> {
    return this.processResponseStream(body);
  }
}

export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}
