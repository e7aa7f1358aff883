// `colloquy chat "…"`: one question, one answer, in a pipe or at a terminal.

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { BARE_ENVIRONMENT } from "../bare-environment.ts";
import { useSeats } from "./terminals.ts";
import { Service } from "./service.ts";
import { CTRL_C, MAIN } from "./terminal.ts";

// Processes start one after another on busy machines.
vi.setConfig({ testTimeout: 90_000 });

// Nothing listens on this port.
const CONFIG = {
  providers: { off: { kind: "openai-compatible", baseURL: "http://127.0.0.1:1/v1" } },
  limits: { maxModelRetries: 0 },
  apps: {
    default: { models: ["demo/assistant", "off/model"], approvals: { current_time: "always" } },
  },
};
let service: Service;
beforeAll(async () => void (service = await Service.start({ config: CONFIG })));
afterAll(() => service.remove());
const { openTerminal, run, lastId } = useSeats(() => service);

it("prints only the answer, for an argument or piped input", async () => {
  expect(await run(["chat", "what is 12 * 7?"])).toEqual({ code: 0, output: "12 * 7 = 84.\n", errors: "" });
  expect(await run(["chat"], "count to 4\n")).toEqual({ code: 0, output: "1 2 3 4\n", errors: "" });
  const both = await run(["chat", "Say this"], "and that\n");
  expect(both.output).toContain("You said:\n\nSay this\n\nand that");
});

it("--attach sends files with the question", async () => {
  const path = join(service.directory, "Grüße.csv");
  await writeFile(path, "a;b\n1;2\n");
  expect(await run(["chat", "--attach", path, "--attach", path, "Read this"])).toMatchObject({
    code: 0,
    errors: "",
  });
  const { messages } = await service.client.getState(await lastId());
  const file = { name: "Grüße.csv", media_type: "text/csv", bytes: 8 };
  expect(messages[0]?.attachments).toMatchObject([file, file]);
  const missing = await run(["chat", "Read this", "--attach", `${path}.missing`]);
  expect(missing).toMatchObject({ code: 1, output: "" });
  expect(missing.errors).toMatch(
    /^Colloquy: The file .*missing cannot be used: there is no such file[^\n]*\n$/,
  );
  expect((await run(["chat", "--attach", path], "")).code).toBe(2);
});

it("--json prints each event as a line, to the end of the turn", async () => {
  const { code, output } = await run(["chat", "--json", "count to 4"]);
  const events = output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; status?: string; text?: string });
  expect(code).toBe(0);
  expect(events.map(({ text }) => text ?? "").join("")).toBe("1 2 3 4");
  expect(events[0]?.type).toBe("message_created");
  expect(events.at(-1)).toMatchObject({ type: "state_changed", status: "idle" });
});

it("exits with 1 if the answer failed", async () => {
  const failed = await run(["chat", "--model", "off/model", "hello"]);
  expect(failed).toMatchObject({ code: 1, output: "" });
  expect(failed.errors).toMatch(/^[^\n]*cannot be reached[^\n]*\n$/);
});

it("exits with 1 when a decision is needed, at once if one is already pending", async () => {
  const asked = await run(["chat", "what time is it?"]);
  expect(asked.code).toBe(1);
  expect(asked.errors).toMatch(
    /needs a decision about current_time.*colloquy chat --session [0-9a-f-]{36}\n$/,
  );
  const { code, output, errors } = await run(["chat", "--session", await lastId(), "And now?"]);
  expect({ code, output }).toEqual({ code: 1, output: "" });
  expect(errors).toMatch(/^[^\n]*needs a decision about current_time[^\n]*\n$/);
});

it("stops the answer and exits with 130 on Ctrl-C", async () => {
  const { client } = service;
  const user = openTerminal(["chat", "count to 2000"]);
  await user.shows("1 2 3 4 5 ");
  user.type(CTRL_C);
  expect(await user.exits()).toBe(130);
  expect((await client.getState(await lastId())).status).toBe("interrupted");
});

it.each([
  [["--json"], 2, /question is empty/],
  [["--url", "nowhere", "hi"], 2, /--url: nowhere is not a URL/],
  [["--session", "x", "hi"], 2, /x is not a session id/],
  [["--session", "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c", "hi"], 1, /no session/],
  [["--model", "a/b", "hi"], 1, /demo\/assistant/],
  [["--url", "http://127.0.0.1:1", "hi"], 1, /Nothing answers at http:\/\/127\.0\.0\.1:1/],
])("exits with %j: code %i and one sentence", async (parameters, code, why) => {
  const ended = await run(["chat", ...parameters]);
  expect(ended).toMatchObject({ code, output: "" });
  expect(ended.errors).toMatch(why);
  expect(ended.errors).toMatch(/^Colloquy: [^\n]+\n$/);
});
it("exits quietly when its output is closed", async () => {
  const program = `"${process.execPath}" "${MAIN}" chat "count to 2000" < /dev/null`;
  const line = `{ ${program}; echo "left with $?" >&2; } | head -c 20`;
  const options = { cwd: service.directory, env: { ...BARE_ENVIRONMENT, ...service.environment } };
  const { stdout, stderr } = await promisify(execFile)("/bin/sh", ["-c", line], options);
  expect({ stdout, stderr }).toEqual({ stdout: "1 2 3 4 5 6 7 8 9 10", stderr: "left with 0\n" });
});
