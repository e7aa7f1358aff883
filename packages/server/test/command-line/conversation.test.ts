// `colloquy chat` in a pseudo terminal, with a real service and the demo model.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { FaultProxy } from "../../../client/test/fault-proxy.ts";
import { PROMPT, useSeats } from "./terminals.ts";
import { Service } from "./service.ts";
import { CTRL_C } from "./terminal.ts";

const run = promisify(execFile);

// Long, because processes start one after another on busy machines.
vi.setConfig({ testTimeout: 90_000 });

let service: Service;
beforeAll(async () => void (service = await Service.start()));
afterAll(() => service.remove());
const { openTerminal, remembered, lastId, threadsFile } = useSeats(() => service);

it("streams; Ctrl-C stops the answer, a second one exits and restores the terminal", async () => {
  const { client } = service;
  const user = openTerminal([], { script: '$COLLOQUY chat; echo "left with $?"; stty -a' });
  await user.shows(PROMPT);
  user.enter("count to 2000");
  await user.shows("1 2 3 4 5 ");
  user.type(CTRL_C);
  await user.shows("(interrupted)");
  await user.shows(PROMPT);
  const id = await lastId();
  const { status, messages } = await client.getState(id);
  expect(status).toBe("interrupted");
  expect(messages.at(-1)?.status).toBe("interrupted");
  user.type(CTRL_C);
  await user.shows(/left with 0\n[\s\S]* icanon/);
  expect(user.text).toMatch(/(?<!-)\becho\b/);
  expect(user.written.lastIndexOf("\u001B[?2004l")).toBeGreaterThan(
    user.written.lastIndexOf("\u001B[?2004h"),
  );
  await user.exits();
});

it("stops the answer on Ctrl-C even while the conversation is being saved", async () => {
  // Opening a pipe without a reader blocks, like a slow disk.
  await mkdir(dirname(threadsFile()), { recursive: true });
  await run("mkfifo", [threadsFile()]);
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  user.enter("count to 2000");
  await user.shows("1 2 3 4 5 ");
  user.type(CTRL_C);
  await user.shows("(interrupted)");
  expect(user.text).not.toContain("(canceled)");
});

it("attaches files, which edits and repeated answers keep", async () => {
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  const path = join(service.directory, "my notes.md");
  await writeFile(path, "# Notes");
  user.enter(`/attach ${path}.missing`);
  await user.shows("there is no such file or directory");
  user.enter(`/attach '${path}'`);
  await user.shows("my notes.md goes with your next message.");
  user.enter("count to 3");
  await user.shows(/\n1 2 3\n>$/);
  user.enter("/edit count to 4");
  await user.shows(/\n1 2 3 4\n>$/);
  const { messages } = await service.client.getState(await lastId());
  expect(messages.map(({ attachments }) => attachments?.map(({ name }) => name))).toEqual([
    ["my notes.md"],
    undefined,
  ]);
  user.enter("next");
  await user.shows(/You said[^>]*\n>$/);
  expect((await service.client.getState(await lastId())).messages[2]?.attachments).toBeUndefined();
});

it("has commands for models, titles, and to list, create and open conversations", async () => {
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  user.enter("what is 12 * 7?");
  await user.shows(
    /\* calculator \{"expression":"12 \* 7"\}\n +calculator done in [^\n]+84\}\n12 \* 7 = 84\.\n>$/,
  );
  user.enter("/title Sums");
  await user.shows("Renamed to Sums.");
  user.enter("/new");
  await user.shows("Started a new conversation.");
  user.enter("count to 3");
  await user.shows(/\n1 2 3\n>$/);
  user.enter("/threads");
  await user.shows(/ 1\* count to 3 .*\n +2 {2}Sums .*\nType \/open/);
  user.enter("/open 2");
  await user.shows(/\(Sums\)\n> what is 12 \* 7\?\n\* calculator [^\n]+\n[^\n]+\n12 \* 7 = 84\.\n>$/);
  user.enter("/model");
  await user.shows("* demo/assistant");
  user.enter("/model nobody/knows");
  await user.shows(/nobody\/knows(?![\s\S]*Now using)[\s\S]*\n>$/);
  user.enter("/thraeds");
  await user.shows("Unknown command /thraeds. Did you mean /threads?");
  user.enter("/quit");
  expect(await user.exits()).toBe(0);
  expect(await remembered()).toHaveLength(2);
  expect((await stat(threadsFile())).mode & 0o777).toBe(0o600);
});

it("replaces the last message, answers it again, and continues in a copy", async () => {
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  user.enter("/again");
  await user.shows("There is no message yet.");
  user.enter("count to 2");
  await user.shows(/\n1 2\n>$/);
  const original = await lastId();
  user.enter("/edit count to 3");
  await user.shows(/> \/edit count to 3\n1 2 3\n>$/);
  user.enter("/again");
  await user.shows(/> \/again\n1 2 3\n>$/);
  const texts = async (id: string) =>
    (await service.client.getState(id)).messages.map(({ content }) => content);
  expect(await texts(original)).toEqual(["count to 3", "1 2 3"]);
  user.enter("/fork");
  await user.shows(/> \/fork\n\(count to 3\)\n> count to 3\n1 2 3\nThis is a copy\. [^\n]+\n>$/);
  user.enter("count to 4");
  await user.shows(/\n1 2 3 4\n>$/);
  expect(await texts(await lastId())).toEqual(["count to 3", "1 2 3", "count to 4", "1 2 3 4"]);
  expect(await texts(original)).toEqual(["count to 3", "1 2 3"]);
  user.enter("/edit");
  await user.shows("/edit takes the new text of your last message.");
});

it("loads the last messages of a long conversation, and shows earlier ones on request", async () => {
  const proxy = await FaultProxy.start(service.url);
  const queries: string[] = [];
  proxy.plan = ({ path, query }) => {
    if (path === "/api/state") queries.push(query);
    return null;
  };
  const id = randomUUID();
  for (let turn = 1; turn <= 35; turn += 1)
    await service.client.sendMessage(id, `Note ${turn}.`, { wait: true });
  const user = openTerminal(["chat", "--url", proxy.url, "--session", id]);
  await user.shows(/\(60 earlier messages\)\n> Note 31\.\n[\s\S]*"Note 35\."\n[\s\S]*\n>$/);
  for (const [left, first] of [
    [50, 26],
    [40, 21],
    [30, 16],
    [20, 11],
    [10, 6],
  ] as const) {
    user.enter("/earlier");
    await user.shows(
      new RegExp(
        `\\(${left} earlier messages\\)\\n> Note ${first}\\.[^>]*(?:> Note [^>]*){4}\\(end of the earlier messages\\)\\n>$`,
      ),
    );
  }
  user.enter("/earlier");
  await user.shows(/> \/earlier\n> Note 1\.[^>]*(?:> Note [^>]*){4}\(end of the earlier messages\)\n>$/);
  user.enter("/earlier");
  await user.shows(/There are no earlier messages\.\n>$/);
  user.enter("/edit Note 0.");
  await user.shows(/"Note 0\."\n>$/);
  expect(queries.length).toBeGreaterThan(0);
  for (const query of queries) expect(query).toMatch(/messages=last%3A\d+/);
  await proxy.stop();
});

it("opens by number in the displayed list, even if another conversation was opened since then", async () => {
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  user.enter("count to 2");
  await user.shows(/\n1 2\n>$/);
  user.enter("/new");
  await user.shows("Started a new conversation.");
  user.enter("count to 3");
  await user.shows(/\n1 2 3\n>$/);
  user.enter("/threads");
  await user.shows(/ 1\* count to 3 .*\n +2 {2}count to 2 .*\nType \/open/);
  user.enter("/open 2");
  await user.shows(/\(count to 2\)\n> count to 2\n1 2\n>$/);
  user.enter("/open 1");
  await user.shows(/> \/open 1\n\(count to \d\)\n> count to \d\n[\d ]+\n>$/);
  expect(user.text).toMatch(/> \/open 1\n\(count to 3\)/);
  user.enter("/open 3");
  await user.shows("/open takes a number from /threads, or a session id.");
});

it("forgets a deleted conversation when opening it fails", async () => {
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  user.enter("count to 2");
  await user.shows(/\n1 2\n>$/);
  await service.client.deleteThread(await lastId());
  await user.shows("The conversation was deleted.");
  expect(await user.exits()).toBe(1);
  const again = openTerminal(["chat"]);
  await again.shows(PROMPT);
  again.enter("/threads");
  await again.shows(/ 1 {2}count to 2 .*\nType \/open[^\n]*\n>$/);
  again.enter("/open 1");
  await again.shows(/> \/open 1\n[^\n]+\n>$/);
  again.enter("/threads");
  await again.shows("There are no conversations yet.");
});

it("prints messages from elsewhere above the current input, and keeps the input", async () => {
  const { client } = service;
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  user.enter("count to 2");
  await user.shows(/\n1 2\n>$/);
  user.type("half a thou");
  await user.shows(/> half a thou$/);
  await client.sendMessage(await lastId(), "count to 4");
  await user.shows(/\n> count to 4\n1 2 3 4\n> half a thou$/);
  user.enter("ght");
  await user.shows('You said: "half a thought"');
  expect(user.text.match(/count to 4/g)).toHaveLength(1);
});

it("keeps pasted lines and Alt-Enter in one message, and drops control keys in a paste", async () => {
  const { client } = service;
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  user.type("\u001B[200~one\r\ntwo\tthree\u0003\u001B[A\u001B[201~");
  await user.shows("> one␤two");
  user.type("\u001B\r");
  user.enter("four");
  await user.shows(/You said:\n\none[\s\S]*\n>$/);
  const { messages } = await client.getState(await lastId());
  expect(messages[0]?.content).toBe("one\ntwo\tthree[A\nfour");
});

it("handles narrow terminals, wide characters and resizing", async () => {
  const user = openTerminal(["chat"], { columns: 40, rows: 12 });
  await user.shows(PROMPT);
  const typed = "漢字".repeat(12);
  user.type(typed);
  await user.shows(`> ${typed}`);
  user.resize(100, 12);
  user.resize(30, 12);
  user.type("!");
  await user.shows(`${typed}!`);
  user.enter("");
  // The emulator leaves the last column empty where a wide character does not fit.
  await user.shows(/You said: "[^"]+!"\n>$/);
  expect(user.text.replaceAll(" ", "")).toContain(`Yousaid:"${typed}!"`);
  user.enter("/help");
  await user.shows("/quit: leave");
  user.enter("count to 100");
  await user.shows(" 24 25 26");
  user.resize(120, 12);
  await user.shows(/98 99 100\n>$/);
});

it("uses colours unless NO_COLOR is set", async () => {
  // Colours only; line editing always moves the cursor.
  const colour = /\u001B\[[\d;]*[1-9]\d*m/;
  const coloured = openTerminal(["chat", "what is 2 + 2?"]);
  await coloured.exits();
  expect(coloured.written).toMatch(colour);
  const plain = openTerminal(["chat", "what is 2 + 2?"], { environment: { NO_COLOR: "1" } });
  await plain.exits();
  expect(plain.text).toContain("2 + 2 = 4.");
  expect(plain.written).not.toMatch(colour);
});

it("suspends on Ctrl-Z and resumes where it was", async () => {
  // As with npx, a waiting process is in the same group.
  const script = `set -m; sh -c "$COLLOQUY chat; exit \\$?"; echo "stopped with $?"; stty -a; fg; echo "left with $?"`;
  const user = openTerminal([], { script });
  await user.shows(PROMPT);
  user.type("half a thou");
  await user.shows("> half a thou");
  user.type("\u001A");
  await user.shows(/stopped with 14\d\n[\s\S]* icanon[\s\S]*\n> half a thou$/);
  expect(user.text).toMatch(/(?<!-)\becho\b/);
  user.enter("ght");
  await user.shows(/You said: "half a thought"\n>$/);
  user.type(CTRL_C);
  await user.shows("left with 0");
});

it("keeps running on Ctrl-Z without job control, even during an answer", async () => {
  const user = openTerminal(["chat"]);
  await user.shows(PROMPT);
  user.enter("count to 40");
  await user.shows("1 2 3 ");
  user.type("\u001A");
  await user.shows(/38 39 40\n>$/);
  user.enter("what is 3 * 4?");
  await user.shows(/3 \* 4 = 12\.\n>$/);
  user.type("\u0004");
  expect(await user.exits()).toBe(0);
});

it("--wallet binds the wallet, and /threads lists all its conversations", async () => {
  const wallet = "0x52908400098527886E0F7030069857D2E4169EE7";
  const elsewhere = service.client.session();
  await elsewhere.send("count to 3", { wait: true, publicKey: wallet });
  elsewhere.stop();
  const user = openTerminal(["chat", "--wallet", wallet]);
  await user.shows(PROMPT);
  user.enter("what is 2 + 2?");
  await user.shows(/2 \+ 2 = 4\.\n>$/);
  user.enter("/threads");
  await user.shows(/ 1\* what is 2 \+ 2\? .*\n +2 {2}count to 3 .*\nType \/open/);
  user.enter("/open 2");
  await user.shows(/> count to 3\n1 2 3\n>$/);
  const { threads } = await service.client.listThreads(wallet);
  expect(threads).toHaveLength(2);
  user.enter("/quit");
  expect(await user.exits()).toBe(0);
});
