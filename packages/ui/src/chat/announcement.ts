import { mayUserDecide, type Message, type PendingAction, type Snapshot } from "@colloquy/client";

/** Longer answers are announced in part. */
const LONGEST = 400;

/** Returns an announcement of the changes since `before`, or `null`. The first snapshot is not announced. */
export function announcementOf(before: Snapshot | null, after: Snapshot | null): string | null {
  if (before === null || after === null) return null;
  const statuses = new Map(before.messages.map(({ id, status }) => [id, status]));
  const known = new Set(before.pending_actions.map(({ id }) => id));
  const earlier = (before.messages_before ?? 0) - (after.messages_before ?? 0);
  // Several messages may change at once: one answer ends and the next one starts.
  const answers = after.messages
    .slice(Math.max(0, earlier))
    .filter(({ id, sender, status }) => sender === "agent" && statuses.get(id) !== status);
  const told = [
    ...answers.map(
      (answer) => endOf(answer) ?? (statuses.has(answer.id) ? null : "The assistant is answering."),
    ),
    ...after.pending_actions.filter(({ id }) => !known.has(id)).map(askingOf),
  ].filter((sentence) => sentence !== null);
  return told.length === 0 ? null : told.join(" ");
}

function askingOf(action: PendingAction): string {
  switch (action.kind) {
    case "approval":
      if (!mayUserDecide(action)) return `${action.request.tool} waits for an approver.`;
      return `The assistant asks whether it may use ${action.request.tool}.`;
    case "client_tool":
      return `The assistant waits for a client to run ${action.request.tool}.`;
    case "question":
      return `The assistant asks: ${action.request.question}`;
    case "wallet_transaction":
      return "The assistant asks for a transaction with your wallet.";
    case "wallet_signature":
      return "The assistant asks for a signature with your wallet.";
  }
}

function endOf({ status, content }: Message): string | null {
  switch (status) {
    case "complete":
      return content.length > LONGEST
        ? `The assistant said: ${content.slice(0, LONGEST)}… and more.`
        : `The assistant said: ${content}`;
    case "interrupted":
      return "The answer was stopped.";
    case "failed":
      return "The assistant could not finish this answer.";
    case "queued":
    case "streaming":
      return null;
  }
}
