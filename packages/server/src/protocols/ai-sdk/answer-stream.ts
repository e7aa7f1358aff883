// The UI message stream of a turn, as server-sent events. Reads the events of `GET /api/updates` as the feed writes them.

import type { UpdateEvent } from "@colloquy/protocol";
import type { UIMessageChunk } from "ai";
import type { StreamSink } from "../../core/ports/driving/services.ts";
import type { FollowedTurn, TurnState } from "./followed-turn.ts";

export const STREAM_FIELDS = { "x-vercel-ai-ui-message-stream": "v1" };
const DONE = "data: [DONE]\n\n";
const HEARTBEAT = ": heartbeat\n\n";
const DATA = /^data: (.*)$/m;

export class AnswerStream implements StreamSink {
  readonly #turn: FollowedTurn;
  readonly #out: StreamSink;
  #isDone = false;

  constructor(turn: FollowedTurn, out: StreamSink) {
    this.#turn = turn;
    this.#out = out;
  }

  /** Sends the answer so far. Returns false if the turn has ended. */
  begin(state: TurnState): boolean {
    this.#send(this.#turn.begin(state));
    return !this.#isDone;
  }

  write(frames: Uint8Array): number {
    let undrained = 0;
    for (const frame of Buffer.from(frames).toString().split("\n\n")) {
      const [, json] = DATA.exec(frame) ?? [];
      if (this.#isDone) return 0;
      if (json !== undefined) undrained = this.#send(this.#turn.apply(JSON.parse(json) as UpdateEvent));
      else if (frame.startsWith(":")) undrained = this.#out.write(Buffer.from(HEARTBEAT));
    }
    return undrained;
  }

  drained(): Promise<void> {
    return this.#out.drained();
  }

  /**
   * Breaks the response if the feed ends the stream before the turn ends (the service stops, or the client is
   * too slow), so that the client resumes.
   */
  end(): void {
    if (!this.#isDone) this.#out.end("abort");
  }

  #send(chunks: Iterable<UIMessageChunk>): number {
    let text = "";
    for (const chunk of chunks) text += `data: ${JSON.stringify(chunk)}\n\n`;
    const { isOver } = this.#turn;
    if (isOver) text += DONE;
    const undrained = text === "" ? 0 : this.#out.write(Buffer.from(text));
    if (isOver) {
      this.#isDone = true;
      this.#out.end("finish");
    }
    return undrained;
  }
}
