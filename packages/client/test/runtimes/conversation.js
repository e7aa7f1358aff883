// A conversation by the published package and what every runtime has, nothing else. Told as lines of JSON, so that the test can follow it.

import { createClient } from "@colloquy/client";

/**
 * Follows a conversation until its second answer is there.
 * @param {string} baseUrl
 * @param {(line: string) => void} tell
 */
export async function converse(baseUrl, tell) {
  const session = createClient({ baseUrl }).session();
  const { state } = session.getConnection();
  const leave = session.subscribe(() => {
    const text = session.getSnapshot()?.messages.at(-1)?.content ?? "";
    tell(JSON.stringify({ id: session.id, text, connection: session.getConnection().state }));
  });
  const told = [];
  const updates = session.updates();
  await session.send("Hi");
  for await (const update of updates) {
    told.push(update);
    if (update.type === "state_changed" && update.status === "idle") break;
  }
  const chatted = await session.send("On", { wait: true });
  await session.rename("Walks");
  leave();
  session.stop();
  tell(
    JSON.stringify({
      id: session.id,
      began: state,
      told,
      texts: chatted.messages.map(({ content }) => content),
    }),
  );
}
