import type { Client } from "@colloquy/client";
import type { Message, Snapshot } from "@colloquy/protocol";
import { messageOfRecord } from "../message-of-record.ts";

/** Number of messages in a part. */
export const PART = 50;

/** Yields all messages of a conversation in parts, oldest first. `last` is a snapshot of its last messages. */
export async function* conversationParts(
  client: Pick<Client, "listMessages">,
  { session_id: id, messages: last, messages_before: left = 0 }: Snapshot,
): AsyncGenerator<readonly Message[]> {
  const newestTurn = Math.max(...last.map(({ turn = 0 }) => turn));
  let after: string | undefined;
  for (let isAtEnd = left === 0; !isAtEnd; ) {
    const page = await client.listMessages(id, { after, limit: PART });
    // Messages of later turns have replaced the first of `last`.
    const end = page.findIndex((record) => record.id === last[0]?.id || record.turn > newestTurn);
    yield (end < 0 ? page : page.slice(0, end)).map(messageOfRecord);
    after = page.at(-1)?.id;
    isAtEnd = end >= 0 || after === undefined;
  }
  yield last;
}
