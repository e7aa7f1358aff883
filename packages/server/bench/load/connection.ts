// One keep-alive connection of the load generator: writes prepared bytes and parses answers minimally, so
// that the servers are measured and not the client.

import { connect, type Socket } from "node:net";

const LAST_CHUNK = "\r\n0\r\n\r\n";

export class LoadConnection {
  readonly #socket: Socket;
  /** Outstanding bytes of the answer; `-1` until its head is complete. */
  #missing = -1;
  #begun: Buffer | null = null;
  /** The last bytes of a chunked answer; `null` for one with a length. */
  #tail: string | null = null;
  #onAnswer: (() => void) | null = null;
  #keep: Buffer[] | null = null;
  status = 0;
  /** Status line and headers of the last answer. */
  head = "";
  /** Body length of the last answer. */
  length = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("error", (error) => this.#fail(error));
    socket.on("close", () => this.#fail(new Error("The server closed the connection")));
  }

  static async open(port: number): Promise<LoadConnection> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    return new LoadConnection(socket);
  }

  /**
   * Sends a request and calls `onAnswer` when its answer is complete. One request at a time. Throws if the
   * server has closed the connection: a request without an answer would block the whole measurement.
   */
  send(request: string | Buffer, onAnswer: () => void): void {
    if (this.#socket.destroyed) throw new Error("The server closed an idle connection");
    this.#onAnswer = onAnswer;
    this.#socket.write(request, "latin1");
  }

  /** Sends a request and returns the body. */
  fetch(request: string | Buffer): Promise<Buffer> {
    this.#keep = [];
    return new Promise((resolve) => {
      this.send(request, () => {
        const body = Buffer.concat(this.#keep ?? []);
        this.#keep = null;
        resolve(body);
      });
    });
  }

  close(): void {
    this.#onAnswer = null;
    this.#socket.removeAllListeners("close").destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#missing < 0) {
      const bytes = this.#begun === null ? chunk : Buffer.concat([this.#begun, chunk]);
      const end = bytes.indexOf("\r\n\r\n");
      if (end < 0) {
        this.#begun = bytes;
        return;
      }
      this.#begun = null;
      this.#readHead(bytes.toString("latin1", 0, end + 2));
      this.#missing = this.length;
      this.#takeBody(bytes.subarray(end + 4));
    } else {
      this.#takeBody(chunk);
    }
  }

  #takeBody(bytes: Buffer): void {
    this.#missing -= bytes.length;
    this.#keep?.push(bytes);
    if (this.#tail !== null) {
      this.#tail = (
        this.#tail + bytes.toString("latin1", Math.max(0, bytes.length - LAST_CHUNK.length))
      ).slice(-LAST_CHUNK.length);
      if (this.#tail === LAST_CHUNK) this.#missing = 0;
    }
    if (this.#missing > 0) return;
    if (this.#missing < 0) throw new Error("The server sent more than one answer");
    this.#missing = -1;
    const onAnswer = this.#onAnswer;
    this.#onAnswer = null;
    onAnswer?.();
  }

  #readHead(head: string): void {
    this.head = head;
    this.status = Number(head.slice(9, 12));
    const at = head.search(/\r\ncontent-length: /i);
    this.#tail = /\r\ntransfer-encoding: chunked/i.test(head) ? "" : null;
    if (at < 0 && this.#tail === null && this.status !== 304)
      throw new Error(`An answer without a length: ${head}`);
    this.length =
      at < 0
        ? this.#tail === null
          ? 0
          : Number.POSITIVE_INFINITY
        : Number.parseInt(head.slice(at + 18, head.indexOf("\r\n", at + 18)), 10);
  }

  #fail(error: Error): void {
    if (this.#onAnswer !== null) throw error;
  }
}
