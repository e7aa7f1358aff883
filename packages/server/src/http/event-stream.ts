// The writing end of an event stream. Ten thousand may be open, so each holds only its response: no request
// of the framework and no closure over one.

import type { ServerResponse } from "node:http";
import type {
  OpenStream,
  StreamFrame,
  StreamSink,
} from "@colloquy/engine/internal/core/ports/driving/services";

const NOTHING = new Uint8Array(0);
const MARK = Symbol("event stream");

/** Cache of encoded frames, because all streams of a session share them. */
const encoded = new WeakMap<StreamFrame, Buffer>();

/** Marks a response as an event stream. */
export function asEventStream(response: ServerResponse): ServerResponse {
  return Object.assign(response, { [MARK]: true });
}

/** Returns true if the response is an event stream, which does not end by itself. */
export function isEventStream(response: ServerResponse): boolean {
  return MARK in response;
}

/** The first `write` sends the head; `attach` sends it if nothing was written. */
export class EventStream implements StreamSink {
  /** `null` before the head is sent and after the client is gone. */
  #response: ServerResponse | null = null;
  #begin: (() => ServerResponse) | null;
  #onClose: (() => void) | null;
  #open: OpenStream | null = null;
  #gone = false;

  /** `begin` sends the head and is called at most once; `onClose` is called once when the stream ends. */
  constructor(begin: () => ServerResponse, onClose: (() => void) | null) {
    this.#begin = begin;
    this.#onClose = onClose;
  }

  /** True once the head is sent, after which no problem document can be sent. */
  get begun(): boolean {
    return this.#begin === null;
  }

  /** Connects the stream to its subscriber. */
  attach(open: OpenStream): void {
    this.#open = open;
    if (this.#begin !== null) this.#ensureBegun()?.flushHeaders();
    if (this.#gone) this.#leave();
  }

  /** Called when the client is gone, even before the stream began. */
  closed(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#response = null;
    this.#begin = null;
    this.#leave();
    const onClose = this.#onClose;
    this.#onClose = null;
    onClose?.();
  }

  write(frame: StreamFrame): number {
    return this.writeBytes(encodeFrame(frame));
  }

  /** Writes bytes of another protocol. Returns the number of earlier bytes that the client has not taken yet. */
  writeBytes(bytes: Uint8Array): number {
    const response = this.#ensureBegun();
    if (response === null || response.writableEnded) return 0;
    response.write(bytes);
    return response.writableLength - bytes.length;
  }

  drained(): Promise<void> {
    const response = this.#response;
    if (response === null || response.writableEnded || response.writableLength === 0)
      return Promise.resolve();
    // Writes complete in order, so this empty one completes after all earlier ones, or when the client
    // disconnects. "drain" is not emitted below the high-water mark.
    return new Promise((resolve) => response.write(NOTHING, () => resolve()));
  }

  end(how: "finish" | "abort"): void {
    const response = this.#ensureBegun();
    if (response === null) return;
    if (how === "abort") response.destroy();
    else if (!response.writableEnded) response.end();
  }

  #ensureBegun(): ServerResponse | null {
    const begin = this.#begin;
    if (begin !== null) {
      this.#begin = null;
      this.#response = begin();
    }
    return this.#response;
  }

  #leave(): void {
    const open = this.#open;
    this.#open = null;
    open?.close();
  }
}

/**
 * Encodes a frame as server-sent events (WHATWG HTML): JSON in one `data:` line, `id:` only for committed events, no
 * `event:`. Returns the same buffer for the same frame.
 */
export function encodeFrame(frame: StreamFrame): Buffer {
  let bytes = encoded.get(frame);
  if (bytes === undefined) {
    bytes = Buffer.from(textOf(frame));
    encoded.set(frame, bytes);
  }
  return bytes;
}

function textOf(frame: StreamFrame): string {
  switch (frame.kind) {
    case "event":
      return `${frame.id === null ? "" : `id: ${frame.id}\n`}data: ${JSON.stringify(frame.event)}\n\n`;
    case "heartbeat":
      return frame.id === null ? ": heartbeat\n\n" : `: heartbeat\nid: ${frame.id}\n\n`;
    case "retry":
      return "retry: 2000\n\n";
  }
}
