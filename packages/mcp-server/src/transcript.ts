// Formats conversations as Markdown.

import type { Message, PersistedMessage } from "@colloquy/protocol";
import { filesOf, lineOf, type LinkedFile } from "./files.ts";

export interface TranscriptMessage {
  readonly role: "user" | "assistant" | "system";
  readonly text: string;
  readonly createdAt: string;
  /** Names of the called tools. */
  readonly tools: readonly string[];
  readonly files: readonly LinkedFile[];
}

const SPEAKERS = { user: "User", assistant: "Assistant", system: "System" } as const;

export function markdownOf(messages: readonly TranscriptMessage[]): string {
  return messages
    .map(({ role, text, createdAt, tools, files }) => {
      const calls = tools.length === 0 ? "" : `\n\n_Called ${tools.join(", ")}_`;
      const links = files.map((file) => `\n\n_${lineOf(file)}_`).join("");
      return `## ${SPEAKERS[role]} (${createdAt})\n\n${text}${calls}${links}\n`;
    })
    .join("\n");
}

export function fromRecord(record: PersistedMessage): TranscriptMessage {
  const { role, content, created_at, tool_calls } = record;
  const tools = (tool_calls ?? []).map(({ name }) => name);
  return { role, text: content, createdAt: created_at, tools, files: filesOf(record, record.session_id) };
}

export function fromMessage({
  sender,
  content,
  created_at,
  tool_calls = [],
  files,
}: Message & { readonly files: readonly LinkedFile[] }): TranscriptMessage {
  const role = sender === "user" ? "user" : "assistant";
  return { role, text: content, createdAt: created_at, tools: tool_calls.map(({ name }) => name), files };
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
