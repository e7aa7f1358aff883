// Stores finished model steps with their turn and message.

import { joinStepText, type MessageExtras, type MessageRecord } from "../message.ts";
import { addUsage, reasoningIn, type NewStep, type TurnRecord } from "../turn.ts";
import type { SessionDraft } from "./draft.ts";

/** Maximum number of sources of an answer; the first ones are kept. */
const MAX_SOURCES = 50;

/** Stores a step. Returns its turn after the step. */
export function addStep(draft: SessionDraft, turn: TurnRecord, step: NewStep): TurnRecord {
  const { sources: _, data: __, ...record } = step;
  draft.addedSteps.push({ turn: turn.number, step: record });
  return { ...turn, steps: step.number, usage: addUsage(turn.usage, step.usage) };
}

/** Returns the message extended by a step's text and other content. */
export function withStep(message: MessageRecord, step: NewStep): MessageRecord {
  return { ...withExtras(message, step), content: joinStepText(message.content, step.text) };
}

/** Returns the message extended by a step's content other than text. */
export function withExtras(message: MessageRecord, { parts, sources = [], data }: NewStep): MessageRecord {
  const { extras: before = {} } = message;
  const byUrl = new Map([...(before.sources ?? []), ...sources].toReversed().map((one) => [one.url, one]));
  const all = [...byUrl.values()].toReversed().slice(0, MAX_SOURCES);
  const extras: MessageExtras = {
    ...before,
    ...(data !== undefined && { data }),
    ...(all.length > 0 && { sources: all }),
    ...(reasoningIn(parts) !== "" && { has_reasoning: true }),
  };
  return Object.keys(extras).length === 0 ? message : { ...message, extras };
}
