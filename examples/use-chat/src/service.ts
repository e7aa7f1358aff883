// What useChat does not do: loading the messages, and stopping the assistant.

import type { UIMessage } from "ai";

/** The path that `DefaultChatTransport` calls. */
export const chatPath = (url: string): string => `${url}/api/ai-sdk/chat`;

/** Returns the conversation without an answer in progress, which `useChat` gets with `resume`. */
export async function loadMessages(url: string, id: string, signal?: AbortSignal): Promise<UIMessage[]> {
  const answer = await fetch(`${chatPath(url)}/${id}/messages`, signal === undefined ? {} : { signal });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as UIMessage[];
}

/** Stops the assistant. */
export async function interrupt(url: string, id: string): Promise<void> {
  await fetch(`${url}/api/interrupt`, { method: "POST", headers: { "X-Session-Id": id } });
}
