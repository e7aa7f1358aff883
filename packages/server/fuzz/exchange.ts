// One connection: bytes go out, answers come back, within a time that nobody needs to wait longer than.

import { connect } from "node:net";
import { readAnswers, type RawAnswer } from "./http-reader.ts";

export interface ExchangeInput {
  readonly port: number;
  readonly bytes: Buffer;
  readonly cuts: readonly number[];
  /** Answers after which the connection has done its part; 0 when nobody can tell. */
  readonly answers: number;
  readonly breaksOff: boolean;
}

export interface Exchange {
  readonly answers: readonly RawAnswer[];
  /** `refused` when there was nobody to connect to. */
  readonly end: "answered" | "closed" | "hung" | "refused";
  /** What came that is not HTTP, in words. */
  readonly defect: string | null;
}

/** An answer or the end of the connection must come within this time, in milliseconds. */
const PATIENCE_MS = 10_000;
/**
 * When nothing comes for this long the client ends its side, as one does that has sent less than it promised. A valid request is
 * whole, so its client waits: the machine may stall, and the server drops requests of clients that have gone.
 */
const SILENCE_MS = 600;

export function exchange(input: ExchangeInput): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect({ port: input.port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    const bodiless = /^\s*HEAD\s/.test(input.bytes.toString("latin1", 0, 10));
    let received = Buffer.alloc(0);
    let connected = false;
    let settled = false;
    const settle = (ended: boolean, onTime: boolean) => {
      if (settled) return;
      settled = true;
      clearTimeout(patience);
      clearTimeout(silence);
      socket.destroy();
      resolve(judge(received, bodiless, ended, onTime, connected));
    };
    const patience = setTimeout(() => settle(false, false), PATIENCE_MS);
    const silence = setTimeout(() => {
      if (input.answers === 0) socket.end();
    }, SILENCE_MS);
    const wanted = Math.max(1, input.answers);
    socket.on("connect", () => {
      connected = true;
      sendInPieces(input, (piece) => socket.write(piece));
      if (input.breaksOff) socket.end();
    });
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      silence.refresh();
      if (countAnswers(received, bodiless) >= wanted) settle(false, true);
    });
    socket.on("end", () => settle(true, true));
    // A reset is an end too: a server may close on a client that goes on sending after its answer.
    socket.on("error", () => settle(true, true));
    socket.on("close", () => settle(true, true));
  });
}

function sendInPieces({ bytes, cuts }: ExchangeInput, send: (piece: Buffer) => void): void {
  const bounds = [0, ...cuts, bytes.length];
  const pieces = bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));
  for (const piece of pieces) if (piece.length > 0) send(piece);
}

function countAnswers(received: Buffer, bodiless: boolean): number {
  try {
    return readAnswers(received, bodiless, false).answers.length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function judge(
  received: Buffer,
  bodiless: boolean,
  ended: boolean,
  onTime: boolean,
  connected: boolean,
): Exchange {
  try {
    const { answers, rest } = readAnswers(received, bodiless, ended);
    const cutOff =
      ended && rest.length > 0 ? `the answer was cut off: ${rest.toString("latin1", 0, 200)}` : null;
    if (!connected) return { answers, end: "refused", defect: null };
    if (answers.length > 0) return { answers, end: "answered", defect: cutOff };
    return { answers, end: onTime ? "closed" : "hung", defect: cutOff };
  } catch (error) {
    return { answers: [], end: "answered", defect: String(error) };
  }
}
