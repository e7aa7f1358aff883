// Formats conversations as Markdown.

import type { Message, PersistedMessage } from "@colloquy/protocol";

export interface TranscriptMessage {
  readonly role: "user" | "assistant" | "system";
  readonly text: string;
  readonly createdAt: string;
  /** Names of the called tools. */
  readonly tools: readonly string[];
}

const SPEAKERS = { user: "User", assistant: "Assistant", system: "System" } as const;

export function markdownOf(messages: readonly TranscriptMessage[]): string {
  return messages
    .map(({ role, text, createdAt, tools }) => {
      const calls = tools.length === 0 ? "" : `\n\n_Called ${tools.join(", ")}_`;
      return `## ${SPEAKERS[role]} (${createdAt})\n\n${text}${calls}\n`;
    })
    .join("\n");
}

export function fromRecord({ role, content, created_at, tool_calls }: PersistedMessage): TranscriptMessage {
  return { role, text: content, createdAt: created_at, tools: (tool_calls ?? []).map(({ name }) => name) };
}

export function fromMessage({ sender, content, created_at, tool_calls = [] }: Message): TranscriptMessage {
  const role = sender === "user" ? "user" : "assistant";
  return { role, text: content, createdAt: created_at, tools: tool_calls.map(({ name }) => name) };
}

/** Truncates a text to `max` characters. Never splits a surrogate pair. */
export function cut(text: string, max: number): string {
  return text.length <= max
    ? text
    : text
        .slice(0, max)
        .toWellFormed()
        .replace(/\uFFFD$/, "");
}
