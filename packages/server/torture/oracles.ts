// Checks snapshots against the clients' knowledge.

import { isDeepStrictEqual } from "node:util";
import type { Message, Snapshot } from "@colloquy/protocol";
import { answerFits } from "./conversation.ts";
import { splitEventId } from "./fold.ts";
import type { IncarnationLedger } from "./ledger.ts";
import type { ViolationKind, Violations } from "./violations.ts";

type Report = (kind: ViolationKind, about: string, detail: string) => void;

/**
 * Checks a snapshot requested at moment `asked`, in any state of the session, and seals its final parts. A
 * request sent after the response to another one must see the effect of that one (contract section 2).
 */
export function checkSnapshot(
  ledger: IncarnationLedger,
  snapshot: Snapshot,
  asked: number,
  violations: Violations,
): void {
  const report: Report = (kind, about, detail) => violations.add(kind, snapshot.session_id, about, detail);
  checkIncarnation(ledger, snapshot, report);
  checkUserMessages(ledger, snapshot, asked, report);
  for (const { id, content } of snapshot.messages) {
    if (ledger.removed.has(id)) report("foreign message", id, `an edit has removed ${content.slice(0, 100)}`);
  }
  checkStatus(snapshot, report);
  checkSealed(ledger, snapshot, asked, report);
  checkSettings(ledger, snapshot, asked, report);
  for (const [call, problem] of ledger.calls.problemsIn(snapshot.messages, asked))
    report("lost", call, problem);
  ledger.seal(snapshot.messages);
}

/** Checks a snapshot of an idle session, in which every message must have exactly its own answer. */
export function checkSettled(ledger: IncarnationLedger, snapshot: Snapshot, violations: Violations): void {
  const report: Report = (kind, about, detail) => violations.add(kind, snapshot.session_id, about, detail);
  for (const message of snapshot.messages) {
    if (message.status === "queued" || message.status === "streaming") {
      report("stuck", message.id, `still ${message.status} in a session that is ${snapshot.status}`);
    }
    checkCalls(message, report);
  }
  for (const messages of Map.groupBy(snapshot.messages, ({ turn }) => turn).values())
    checkTurn(ledger, messages, report);
}

/** Checks an ended turn: an agent message follows its question, and the messages of each step that has read some. */
function checkTurn(ledger: IncarnationLedger, messages: readonly Message[], report: Report): void {
  const asked = messages.filter(({ sender, status }) => sender === "user" && status === "complete");
  const answers = messages.filter(({ sender }) => sender === "agent");
  const steps = new Set(asked.map(({ steering }) => (steering?.status === "read" ? steering.step : 1)));
  if (asked.length > 0) steps.add(1);
  const question = asked.at(-1)?.content ?? "";
  if (answers.length < steps.size)
    report("unanswered", question, `${steps.size - answers.length} messages of its turn have no answer`);
  for (const answer of answers.slice(steps.size))
    report("answered twice", answer.id, `${answers.length} answers to ${steps.size} messages`);
  const last = answers.at(-1);
  if (last?.status === "complete" && ledger.sent.has(question) && !answerFits(question, last.content))
    report("wrong answer", question, `was answered with ${JSON.stringify(last.content.slice(0, 200))}`);
}

/**
 * Checks a new copy, made after `before` was shown: it has all finished turns of that time, with equal messages under
 * other ids, and perhaps turns that finished since then.
 */
export function checkCopy(
  ledger: IncarnationLedger,
  before: Snapshot,
  copy: Snapshot,
  violations: Violations,
): void {
  const report: Report = (kind, about, detail) => violations.add(kind, copy.session_id, about, detail);
  const [ids, contents] = [before.messages.map(({ id }) => id), copy.messages.map(withoutId)];
  for (const message of finishedOf(before.messages)) {
    if (!contents.some((one) => isDeepStrictEqual(one, withoutId(message))))
      report("lost", message.content, `is finished in ${before.session_id}, and not in its copy`);
  }
  for (const { id, sender, content } of copy.messages) {
    if (ids.includes(id)) report("foreign message", id, `is a message of ${before.session_id} too`);
    if (sender === "user" && !ledger.sent.has(content))
      report("foreign message", content, `is not in ${before.session_id}`);
  }
}

function withoutId({ id: _id, ...message }: Message): Omit<Message, "id"> {
  return message;
}

/** Returns the messages of turns that have ended. */
function finishedOf(messages: readonly Message[]): readonly Message[] {
  const isEnd = ({ sender, status, steps }: Message): boolean =>
    status === "interrupted" ||
    status === "failed" ||
    (sender === "agent" && status === "complete" && steps?.to === undefined);
  const ended = new Set(messages.filter(isEnd).map(({ turn }) => turn));
  return messages.filter(({ turn }) => ended.has(turn));
}

function checkIncarnation(ledger: IncarnationLedger, snapshot: Snapshot, report: Report): void {
  const { incarnation } = splitEventId(snapshot.last_event_id);
  if (ledger.formerIncarnations.has(incarnation))
    report("foreign message", incarnation, "this incarnation of the session was deleted");
  ledger.incarnation ??= incarnation;
  if (ledger.incarnation !== incarnation)
    report("lost", ledger.incarnation, `the session restarted as ${incarnation}`);
}

function checkUserMessages(
  ledger: IncarnationLedger,
  snapshot: Snapshot,
  asked: number,
  report: Report,
): void {
  const seen = new Set<string>();
  let latestSent = 0;
  for (const { sender, content } of snapshot.messages) {
    if (sender !== "user") continue;
    const message = ledger.sent.get(content);
    if (message === undefined || message.refused) {
      report(
        "foreign message",
        content,
        message === undefined ? "was never sent here" : "was reported as not stored",
      );
      continue;
    }
    if (seen.has(content)) report("doubled", content, "is in the session twice");
    seen.add(content);
    // A message that was acknowledged before another one was sent must come before it.
    if (message.acknowledged !== null && message.acknowledged < latestSent) {
      report("disordered", content, "is after a message that was sent later");
    }
    latestSent = Math.max(latestSent, message.sent);
  }
  for (const message of ledger.sent.values()) {
    if (message.acknowledged !== null && message.acknowledged < asked && !seen.has(message.text)) {
      report("lost", message.text, `acknowledged, but not among ${snapshot.messages.length} messages`);
    }
  }
}

function checkStatus(snapshot: Snapshot, report: Report): void {
  const streaming = snapshot.messages.filter(({ status }) => status === "streaming");
  if (streaming.length > 1) report("two turns at once", String(streaming.length), "messages stream at once");
  if (snapshot.is_processing !== (snapshot.status === "processing")) {
    report("wrong answer", snapshot.status, `is_processing is ${String(snapshot.is_processing)}`);
  }
  const open = snapshot.messages.find(({ status }) => status === "streaming" || status === "queued");
  if (open !== undefined && !snapshot.is_processing) {
    report("stuck", open.id, `is ${open.status} although the session is ${snapshot.status}`);
  }
}

function checkSealed(ledger: IncarnationLedger, snapshot: Snapshot, asked: number, report: Report): void {
  const shown = new Map(snapshot.messages.map((message) => [message.id, message]));
  for (const [id, { message, since }] of ledger.sealed) {
    if (since >= asked || isDeepStrictEqual(shown.get(id), message)) continue;
    const [before, after] = [message, shown.get(id)].map((one) => JSON.stringify(one)?.slice(0, 300));
    report("changed after sealed", id, `was ${before ?? ""}, is ${after ?? "gone"}`);
  }
}

function checkSettings(ledger: IncarnationLedger, snapshot: Snapshot, asked: number, report: Report): void {
  for (const [name, { value, since }] of ledger.settings) {
    if (value === undefined || since >= asked || isDeepStrictEqual(snapshot[name], value)) continue;
    report("forgotten setting", name, `is ${JSON.stringify(snapshot[name])}, not ${JSON.stringify(value)}`);
  }
}

/** Checks that each call has exactly one result (contract section 2). */
function checkCalls(message: Message, report: Report): void {
  const calls = (message.tool_calls ?? []).map(({ id }) => id);
  const results = (message.tool_results ?? []).map(({ call_id }) => call_id);
  if (!isDeepStrictEqual(calls.toSorted(), results.toSorted())) {
    report("wrong answer", message.id, `calls ${calls.join()} have results for ${results.join()}`);
  }
}
