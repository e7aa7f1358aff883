import type { Message, PersistedMessage, Snapshot } from "@colloquy/protocol";
import { expect, it } from "vitest";
import { conversationParts } from "./conversation-parts.ts";

const AT = "2026-11-20T12:00:00.000Z";

const record = (id: string, turn: number, role: PersistedMessage["role"] = "user"): PersistedMessage => ({
  id,
  session_id: "s",
  thread_id: "s",
  role,
  content: id,
  tool_calls: null,
  tool_results: null,
  created_at: AT,
  turn,
});
const shown = (id: string, turn: number): Message => ({
  id,
  sender: "agent",
  content: id,
  created_at: AT,
  status: "streaming",
  turn,
});

/** Returns the ids in each part of a conversation whose records are `records`, read two at a time. */
async function partsOf(records: readonly PersistedMessage[], last: readonly Message[], before: number) {
  const asked: (string | undefined)[] = [];
  const client = {
    listMessages: (_id: string, { after }: { readonly after?: string | undefined } = {}) => {
      asked.push(after);
      const start = records.findIndex(({ id }) => id === after) + 1;
      return Promise.resolve(records.slice(start, start + 2));
    },
  };
  const snapshot = { session_id: "s", messages: last, messages_before: before } as Snapshot;
  const parts: string[][] = [];
  for await (const part of conversationParts(client, snapshot))
    parts.push(part.map(({ id, status }) => `${id} ${status}`));
  return { parts, asked };
}

const RECORDS = [record("1", 1), record("2", 1, "assistant"), record("3", 2), record("4", 2, "assistant")];

it("reads the records up to the last messages, whose state is that of the snapshot", async () => {
  expect(await partsOf(RECORDS, [shown("4", 2)], 3)).toEqual({
    parts: [["1 complete", "2 complete"], ["3 complete"], ["4 streaming"]],
    asked: [undefined, "2"],
  });
  expect(await partsOf(RECORDS, [shown("4", 2)], 0)).toEqual({ parts: [["4 streaming"]], asked: [] });
});

it("stops at messages that have replaced the last ones in the meantime", async () => {
  const replaced = [...RECORDS.slice(0, 2), record("5", 3), record("6", 3, "assistant"), record("7", 4)];
  const { parts } = await partsOf(replaced, [shown("4", 2)], 3);
  expect(parts).toEqual([["1 complete", "2 complete"], [], ["4 streaming"]]);
});

it("ends when the records end before the last messages", async () => {
  const { parts } = await partsOf(RECORDS.slice(0, 2), [shown("4", 2)], 3);
  expect(parts.flat()).toEqual(["1 complete", "2 complete", "4 streaming"]);
});
