import type { Message } from "./wire.ts";

/**
 * Returns the question that the message at `index` answers, if the message before it belongs to another turn.
 * Returns `null` for all other messages, and if the service does not send turn numbers.
 */
export function answeredQuestion(messages: readonly Message[], index: number): Message | null {
  const { sender, turn } = messages[index] ?? {};
  if (sender !== "agent" || turn === undefined || messages[index - 1]?.turn === turn) return null;
  const isQuestion = (message: Message): boolean => message.sender === "user" && message.turn === turn;
  return messages.slice(0, index).filter(isQuestion).at(-1) ?? null;
}
