// Many open event streams, and the delay of events on single ones.

import { connect, type Socket } from "node:net";
import { machineMs } from "../machine-clock.ts";
import { LoadConnection } from "./connection.ts";

interface OpenStream {
  readonly socket: Socket;
  /** Called with each chunk. */
  onData: ((text: string) => void) | null;
}

const MARK = /mark-[\w-]+?-end/g;

/** Opens streams a few at a time and keeps them open. */
export class StreamBundle {
  readonly #streams: OpenStream[] = [];
  readonly #arrivals = new Map<string, number>();

  /** `requests` are whole requests, one per stream. Resolves when each has received its head. */
  async open(port: number, requests: readonly string[]): Promise<void> {
    const rest = requests.entries();
    const worker = async () => {
      for (const [index, request] of rest) this.#streams[index] = await openStream(port, request);
    };
    await Promise.all(Array.from({ length: 32 }, worker));
  }

  /**
   * Sends the triggers one by one and measures the time until `mark` arrives on the stream with index
   * `stream`. Returns milliseconds.
   */
  async measure(
    port: number,
    triggers: readonly { readonly stream: number; readonly request: string; readonly mark: string }[],
  ): Promise<number[]> {
    const connection = await LoadConnection.open(port);
    const delays: number[] = [];
    for (const { stream, request, mark } of triggers) {
      const asked = performance.now();
      const [delay] = await Promise.all([
        this.#arrival(stream, mark, asked),
        new Promise<void>((resolve) => connection.send(request, resolve)),
      ]);
      if (connection.status !== 200) throw new Error(`A trigger was answered with ${connection.status}`);
      delays.push(delay);
    }
    connection.close();
    return delays;
  }

  /** Records from now on when each `mark-…-end` first arrives, on any stream. */
  record(): void {
    this.#arrivals.clear();
    for (const stream of this.#streams) {
      let seen = "";
      stream.onData = (text) => {
        const now = machineMs();
        seen += text;
        for (const [mark] of seen.matchAll(MARK))
          if (!this.#arrivals.has(mark)) this.#arrivals.set(mark, now);
        seen = seen.slice(seen.lastIndexOf("\n") + 1);
      };
    }
  }

  /** Marks that have arrived since `record`, with their times on the machine's clock. */
  get arrivals(): ReadonlyMap<string, number> {
    return this.#arrivals;
  }

  close(): void {
    for (const { socket } of this.#streams) socket.destroy();
    this.#streams.length = 0;
  }

  #arrival(index: number, mark: string, asked: number): Promise<number> {
    const stream = this.#streams[index];
    if (stream === undefined) throw new Error(`No stream ${index}`);
    let seen = "";
    return new Promise((resolve) => {
      stream.onData = (text) => {
        seen += text;
        if (!seen.includes(mark)) return;
        stream.onData = null;
        resolve(performance.now() - asked);
      };
    });
  }
}

async function openStream(port: number, request: string): Promise<OpenStream> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const stream: OpenStream = { socket, onData: null };
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject).once("connect", () => socket.write(request));
    socket.once("data", (first: Buffer) => {
      const head = first.toString("latin1");
      if (head.startsWith("HTTP/1.1 200")) resolve();
      else reject(new Error(`A stream was answered with ${head.slice(0, 200)}`));
    });
  });
  socket.on("data", (chunk: Buffer) => stream.onData?.(chunk.toString("utf8")));
  socket.on("error", () => {});
  return stream;
}
