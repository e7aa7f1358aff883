// Limits in the recommended design: many users behind one server, with one App key and one address.

import { afterAll, beforeAll, expect, it } from "vitest";
import { send } from "../black-box/client.ts";
import type { Program } from "../black-box/server.ts";
import { Browser, signedLogin } from "./browser.ts";
import { EXPRESS, startColloquy, YourServer } from "./examples.ts";

const USERS = 500;
/** What Colloquy allows a client each minute. */
const CHATS_PER_MINUTE = 60;

let program: Program;
let server: YourServer;
beforeAll(async () => {
  const started = await startColloquy();
  program = started.program;
  server = await YourServer.start(EXPRESS, program, started.key);
});
afterAll(async () => {
  await server.stop();
  await program.remove();
});

const userOf = (index: number): Browser => new Browser(server.url, signedLogin(`user-${index}`));

/** Users who act at the same moment: as many as two cores serve before idle connections are closed. */
const AT_ONCE = 25;

/** Calls the function for each item, for some at a time. */
async function inWaves<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(start, start + AT_ONCE).map(act))));
  }
  return results;
}

it("answers 500 users who follow their conversations, and refuses only one who floods", async () => {
  const users = Array.from({ length: USERS }, (_, index) => userOf(index));
  const answered = await inWaves(users, async (user) => {
    const session = await user.create();
    const stream = await user.follow(session);
    const chat = await user.chat(session, "hello");
    const statuses = [stream.answer.status, chat.status];
    if (chat.ok) await stream.until(({ type }) => type === "message_completed");
    return { user, session, stream, statuses };
  });
  expect(new Set(answered.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
  const { text } = await send(program.url, "GET", "/metrics");
  expect(text).toContain(`\ncolloquy_streams_open ${USERS}\n`);
  const [flooding, ...others] = answered;
  const { user } = flooding!;
  // So many that limits per session would refuse nothing.
  const sessions = [flooding!.session, await user.create(), await user.create(), await user.create()];
  let accepted = 0;
  let refused: Response | null = null;
  while (refused === null && accepted < 3 * CHATS_PER_MINUTE) {
    const answer = await user.chat(sessions[accepted % sessions.length]!, "again", { Prefer: "wait=10" });
    if (answer.status === 200) accepted += 1;
    else refused = answer;
  }
  expect(refused?.status).toBe(429);
  expect(await refused!.json()).toMatchObject({ code: "rate_limited" });
  expect(Number(refused!.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(accepted).toBeGreaterThanOrEqual(CHATS_PER_MINUTE - 1);
  const again = await inWaves(others, ({ user, session }) => user.chat(session, "still there?"));
  expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]));
  for (const { stream } of answered) stream.leave();
});
