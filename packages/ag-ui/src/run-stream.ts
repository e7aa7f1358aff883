// Streams a run: RUN_STARTED, the events of its turn, then RUN_FINISHED or RUN_ERROR.

import { contentToText, type Event, EventType, type RunFinishedOutcome } from "@ag-ui/core";
import type { Snapshot, UpdateEvent } from "@colloquy/protocol";
import { type ProtocolConversation, ServiceError, type StreamFollower } from "@colloquy/server/protocol";
import { runError } from "./errors.ts";
import type { RunInput } from "./input.ts";
import { interruptsIn, toInterrupt } from "./interrupts.ts";
import { toAgUiMessages } from "./messages.ts";
import { answerOf, type Run, usesOtherIds } from "./run.ts";

export class RunStream implements StreamFollower {
  readonly after: string | null;
  readonly includesReasoning: boolean;
  readonly #conversation: ProtocolConversation;
  readonly #input: RunInput;
  readonly #run: Run;
  /** False for clients before version 1.0, which reject results with parts. */
  readonly #readsParts: boolean;

  constructor(conversation: ProtocolConversation, input: RunInput, run: Run) {
    this.#conversation = conversation;
    this.#input = input;
    this.#run = run;
    this.#readsParts = Number.parseInt(input.protocolVersion ?? "", 10) >= 1;
    this.includesReasoning = run.includesReasoning;
    this.after = run.followed?.start.lastEventId ?? run.before?.last_event_id ?? null;
  }

  get isOver(): boolean {
    const { followed } = this.#run;
    return followed === null || followed.turn.isOver || followed.events.isRerun;
  }

  begin(): string {
    const { before, sendsState, clears, followed } = this.#run;
    const snapshot =
      before === null ? [] : [...(sendsState ? [stateOf(before)] : []), ...messagesOf(before, clears)];
    return (
      this.#textOf([startOf(this.#input), ...snapshot]) +
      (followed === null ? "" : this.#textOf(followed.turn.begin(followed.start.state)))
    );
  }

  encode(event: UpdateEvent): string {
    const { followed } = this.#run;
    return followed === null ? "" : this.#textOf(followed.turn.apply(event));
  }

  async finish(): Promise<string> {
    const { followed } = this.#run;
    if (followed?.events.isRerun === true) return "";
    const { how, pending } = followed?.events.ended ?? { how: "complete", pending: [] };
    if (typeof how === "object") return this.#textOf([runError(how.failure, "turn_failed")]);
    if (how === "interrupted") return this.#finished({ type: "cancelled" });
    const interrupts = interruptsIn(pending);
    if (how === "complete" || interrupts.length === 0) return this.#finished({ type: "success" });
    try {
      // AG-UI requires a STATE_SNAPSHOT and a MESSAGES_SNAPSHOT before an interrupt.
      const snapshot = await this.#conversation.snapshot();
      const answer = answerOf(snapshot, pending);
      const clears = await usesOtherIds(this.#conversation, answer, snapshot);
      const outcome = {
        type: "interrupt" as const,
        interrupts: interrupts.map((action) => toInterrupt(action, answer)),
      };
      return this.#textOf([stateOf(snapshot), ...messagesOf(snapshot, clears)]) + this.#finished(outcome);
    } catch (error) {
      if (error instanceof ServiceError) return this.#textOf([runError(error.message, error.code)]);
      throw error;
    }
  }

  #textOf(events: Iterable<Event>): string {
    return textOf(this.#readsParts ? events : withoutParts(events));
  }

  #finished(outcome: RunFinishedOutcome): string {
    const { threadId, runId } = this.#input;
    return this.#textOf([{ type: EventType.RUN_FINISHED, threadId, runId, outcome }]);
  }
}

/** Streams a rejected run: RUN_STARTED, then RUN_ERROR. */
export class RefusedRun implements StreamFollower {
  readonly after = null;
  readonly isOver = true;
  readonly #text: string;

  constructor(input: RunInput, { message, code }: ServiceError) {
    this.#text = textOf([startOf(input), runError(message, code)]);
  }

  begin(): string {
    return this.#text;
  }

  encode(): string {
    return "";
  }
}

function startOf({ threadId, runId, parentRunId }: RunInput): Event {
  return {
    type: EventType.RUN_STARTED,
    threadId,
    runId,
    ...(parentRunId !== null && parentRunId !== undefined && { parentRunId }),
  };
}

function stateOf({ user_state: state }: Snapshot): Event {
  return { type: EventType.STATE_SNAPSHOT, snapshot: state ?? {} };
}

/**
 * Returns a MESSAGES_SNAPSHOT. If `clears` is true, precedes it with an empty one, which removes the client's
 * messages.
 */
function messagesOf({ messages }: Snapshot, clears: boolean): Event[] {
  const all: Event = { type: EventType.MESSAGES_SNAPSHOT, messages: toAgUiMessages(messages) };
  return clears ? [{ type: EventType.MESSAGES_SNAPSHOT, messages: [] }, all] : [all];
}

/** Replaces the parts of results by their texts. */
function* withoutParts(events: Iterable<Event>): Iterable<Event> {
  for (const event of events) {
    if (event.type === EventType.TOOL_CALL_RESULT) {
      yield { ...event, content: contentToText(event.content) };
    } else if (event.type === EventType.MESSAGES_SNAPSHOT) {
      const messages = event.messages.map((message) =>
        message.role === "tool" ? { ...message, content: contentToText(message.content) } : message,
      );
      yield { ...event, messages };
    } else yield event;
  }
}

function textOf(events: Iterable<Event>): string {
  let text = "";
  for (const event of events) text += `data: ${JSON.stringify(event)}\n\n`;
  return text;
}
