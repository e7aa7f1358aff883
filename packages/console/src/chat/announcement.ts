import type { Message, PendingAction, Snapshot } from "@colloquy/client";

/** Of a long answer the beginning is told; the rest is there to be read. */
const LONGEST = 400;

/** What has come since `before` that is worth a sentence; `null` for nothing. What was there at first sight is no news. */
export function announcementOf(before: Snapshot | null, after: Snapshot | null): string | null {
  if (before === null || after === null) return null;
  const asked = after.pending_actions.find(
    ({ id }) => !before.pending_actions.some((known) => known.id === id),
  );
  if (asked !== undefined) return askingOf(asked);
  const answer = after.messages.findLast(({ sender }) => sender === "agent");
  if (answer === undefined) return null;
  const known = before.messages.find(({ id }) => id === answer.id);
  if (known?.status === answer.status) return null;
  return endOf(answer) ?? (known === undefined ? "The assistant is answering." : null);
}

function askingOf(action: PendingAction): string {
  switch (action.kind) {
    case "approval":
      return `The assistant asks whether it may use ${action.request.tool}.`;
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
