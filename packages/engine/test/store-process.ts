// A process with its own store, for tests that need a second one, one to kill, or one with a limit. Called
// with a directory and a command; prints what happens, one line each.

import { randomUUID } from "node:crypto";
import type { ServiceError } from "../src/core/errors.ts";
import { createSystemClock } from "../src/wiring/clock.ts";
import { openSqliteStore } from "../src/store/sqlite/open.ts";
import { NOTHING, chat, existing, touch } from "@colloquy/testing/internal/store/fixtures/scenario";

const [directory = "", task = "hold"] = process.argv.slice(2);

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

const store = await openSqliteStore({
  directory,
  role: task === "administer" ? "administration" : "server",
  processId: process.pid,
  clock: createSystemClock(),
  onFatal: (error) => {
    say(`fatal ${error.message}`);
    process.exit(1);
  },
}).catch((error: Error) => {
  say(`refused ${error.message}`);
  process.exit(1);
});
say(`ready ${process.pid}`);

/** Chats until it is killed; prints each acknowledged message. */
async function chatForever(): Promise<void> {
  for (;;) {
    const id = randomUUID();
    await chat(store, id, `message of ${id}`);
    say(`acknowledged ${id}`);
  }
}

/** Chats until nothing more fits, then prints what still works. */
async function fill(): Promise<void> {
  const first = randomUUID();
  await chat(store, first, "the first one");
  const refused = await fillUp();
  say(`refused_with ${refused.status} ${refused.code} ${refused.headers["retry-after"]}`);
  const opened = await store.execute({ kind: "open", target: existing(first, true), input: NOTHING });
  const page = await store.events.after(first, 0, 10);
  const found = await store.sessions.find(first);
  const gone = await touch(store, [{ id: first, incarnation: found?.incarnation ?? "" }]);
  say(`read ${opened?.loaded?.messages.length} ${page?.events.length} ${found?.id === first} ${gone.length}`);
}

async function fillUp(): Promise<ServiceError> {
  for (;;) {
    const batch = Array.from({ length: 8 }, () => chat(store, randomUUID(), "x".repeat(2000)));
    for (const result of await Promise.allSettled(batch)) {
      if (result.status === "rejected") return result.reason as ServiceError;
    }
  }
}

if (task === "chat") await Promise.all(Array.from({ length: 8 }, chatForever));
if (task === "fill") {
  await fill();
  await store.close();
}
if (task === "administer") {
  await chat(store, randomUUID(), "from the command line");
  await store.close();
}
