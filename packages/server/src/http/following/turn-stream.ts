// Streams the items of a turn as server-sent events.

import type { UpdateEvent } from "@colloquy/protocol";
import type { StreamFollower } from "../protocol.ts";
import type { FollowedTurn } from "./followed-turn.ts";
import type { Start } from "./turn-start.ts";

export interface TurnStreamOptions {
  readonly includesReasoning: boolean;
  /** Text to send after the last item. */
  readonly done?: string;
}

/** Follower that sends each item as JSON in one `data:` line. */
export class TurnStream<Item> implements StreamFollower {
  readonly after: string;
  readonly includesReasoning: boolean;
  readonly #turn: FollowedTurn<Item>;
  readonly #start: Start;
  readonly #done: string;
  #isDone = false;

  constructor(turn: FollowedTurn<Item>, start: Start, { includesReasoning, done = "" }: TurnStreamOptions) {
    this.#turn = turn;
    this.#start = start;
    this.after = start.lastEventId;
    this.includesReasoning = includesReasoning;
    this.#done = done;
  }

  get isOver(): boolean {
    return this.#turn.isOver;
  }

  /** Returns the items of the answer so far. */
  begin(): string {
    return this.#textOf(this.#turn.begin(this.#start.state));
  }

  encode(event: UpdateEvent): string {
    return this.#textOf(this.#turn.apply(event));
  }

  #textOf(items: Iterable<Item>): string {
    let text = "";
    for (const item of items) text += `data: ${JSON.stringify(item)}\n\n`;
    if (!this.#turn.isOver || this.#isDone) return text;
    this.#isDone = true;
    return text + this.#done;
  }
}
