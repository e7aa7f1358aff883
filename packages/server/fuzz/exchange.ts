// One connection: sends bytes and collects responses within a time-out.

import { connect } from "node:net";
import { readAnswers, type RawAnswer } from "./http-reader.ts";

export interface ExchangeInput {
  readonly port: number;
  readonly bytes: Buffer;
  readonly cuts: readonly number[];
  /** Number of expected answers; 0 if unknown. */
  readonly answers: number;
  /** Index of the answer to a HEAD, which has no body; -1 for none. */
  readonly bodiless: number;
  readonly breaksOff: boolean;
}

export interface Exchange {
  readonly answers: readonly RawAnswer[];
  /** `refused` if no server accepts connections. */
  readonly end: "answered" | "closed" | "hung" | "refused";
  /** Describes received bytes that are not HTTP; `null` if there are none. */
  readonly defect: string | null;
}

/**
 * Maximum milliseconds until a response, or until the end of a connection without a complete request. The client
 * half-closes those, and the server would end them after 15 seconds even if it missed that.
 */
const TIMEOUT_MS = { answer: 60_000, end: 10_000 };
/**
 * Milliseconds of silence after which the client half-closes, like a client that sent less than it announced.
 * Not used after complete requests: the machine may stall, and the server drops requests of closed clients.
 */
const SILENCE_MS = 600;

export function exchange(input: ExchangeInput): Promise<Exchange> {
  return new Promise((resolve) => {
    const socket = connect({ port: input.port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    const { bodiless } = input;
    let received = Buffer.alloc(0);
    let connected = false;
    let isFinished = false;
    const finish = (ended: boolean, onTime: boolean) => {
      if (isFinished) return;
      isFinished = true;
      clearTimeout(timeout);
      clearTimeout(silence);
      socket.destroy();
      resolve(check(received, bodiless, ended, onTime, connected));
    };
    const timeout = setTimeout(
      () => finish(false, false),
      input.answers > 0 ? TIMEOUT_MS.answer : TIMEOUT_MS.end,
    );
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
      if (countAnswers(received, bodiless) >= wanted) finish(false, true);
    });
    socket.on("end", () => finish(true, true));
    // A reset counts as an end: a server may close while the client still sends.
    socket.on("error", () => finish(true, true));
    socket.on("close", () => finish(true, true));
  });
}

function sendInPieces({ bytes, cuts }: ExchangeInput, send: (piece: Buffer) => void): void {
  const bounds = [0, ...cuts, bytes.length];
  const pieces = bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));
  for (const piece of pieces) if (piece.length > 0) send(piece);
}

function countAnswers(received: Buffer, bodiless: number): number {
  try {
    return readAnswers(received, bodiless, false).answers.length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function check(
  received: Buffer,
  bodiless: number,
  ended: boolean,
  onTime: boolean,
  connected: boolean,
): Exchange {
  try {
    const { answers, rest } = readAnswers(received, bodiless, ended);
    const cutOff =
      ended && rest.length > 0 ? `the answer is truncated: ${rest.toString("latin1", 0, 200)}` : null;
    if (!connected) return { answers, end: "refused", defect: null };
    if (answers.length > 0) return { answers, end: "answered", defect: cutOff };
    return { answers, end: onTime ? "closed" : "hung", defect: cutOff };
  } catch (error) {
    return { answers: [], end: "answered", defect: String(error) };
  }
}
