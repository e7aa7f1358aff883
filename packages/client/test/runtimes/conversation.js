// Runs a conversation with the published package and APIs common to all runtimes. Prints its progress as lines of JSON.

import { createClient } from "@colloquy/client";

/**
 * Runs a conversation until its second answer is complete.
 * @param {string} baseUrl
 * @param {(line: string) => void} print
 */
export async function converse(baseUrl, print) {
  const client = createClient({ baseUrl, token: async () => "a-token" });
  const session = client.session();
  const { state } = session.getConnection();
  const leave = session.subscribe(() => {
    const text = session.getSnapshot()?.messages.at(-1)?.content ?? "";
    print(JSON.stringify({ id: session.id, text, connection: session.getConnection().state }));
  });
  const received = [];
  const updates = session.updates();
  await session.send("Hi");
  for await (const update of updates) {
    received.push(update);
    if (update.type === "state_changed" && update.status === "idle") break;
  }
  const chatted = await session.send("On", { wait: true });
  await session.rename("Walks");
  leave();
  session.stop();
  print(
    JSON.stringify({
      id: session.id,
      began: state,
      updates: received,
      texts: chatted.messages.map(({ content }) => content),
    }),
  );
}
