// The writing end of one event stream. Ten thousand of these are open at a time, so an open one holds its response and
// nothing else: no request of the framework, no closure over one.

import type { ServerResponse } from "node:http";
import type { OpenStream, StreamSink } from "../core/ports/driving/services.ts";

const NOTHING = new Uint8Array(0);
const MARK = Symbol("event stream");

/** Marks a response as an event stream. */
export function asEventStream(response: ServerResponse): ServerResponse {
  return Object.assign(response, { [MARK]: true });
}

/** Returns true if the response is an event stream, which does not end by itself. */
export function isEventStream(response: ServerResponse): boolean {
  return MARK in response;
}

export class EventStream implements StreamSink {
  /** `null` before the head is sent and after the client is gone. */
  #response: ServerResponse | null = null;
  #begin: (() => ServerResponse) | null;
  #onClose: (() => void) | null;
  #open: OpenStream | null = null;
  #gone = false;

  /** `begin` sends the head of the answer and is called at most once; `onClose` is called once when the stream is over. */
  constructor(begin: () => ServerResponse, onClose: (() => void) | null) {
    this.#begin = begin;
    this.#onClose = onClose;
  }

  /** Whether the head was sent, so that an error can no longer be answered. */
  get begun(): boolean {
    return this.#begin === null;
  }

  /** Joins the stream with its reader in the service. The head is sent now if no event has sent it already. */
  attach(open: OpenStream): void {
    this.#open = open;
    if (this.#begin !== null) this.#ensureBegun()?.flushHeaders();
    if (this.#gone) this.#leave();
  }

  /** The client is gone, or was before the stream began. */
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

  write(bytes: Uint8Array): number {
    const response = this.#ensureBegun();
    if (response === null || response.writableEnded) return 0;
    response.write(bytes);
    return response.writableLength;
  }

  drained(): Promise<void> {
    const response = this.#response;
    if (response === null || response.writableEnded || response.writableLength === 0)
      return Promise.resolve();
    // Writes are taken in order: when this empty one is done, so are those before it, and when the client goes it is done too.
    // "drain" would not do, because it is not emitted for less than a high water mark.
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
