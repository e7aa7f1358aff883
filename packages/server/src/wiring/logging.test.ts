import { spawnSync } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { APICallError } from "@ai-sdk/provider";
import type { Logger as PinoLogger } from "pino";
import { afterAll, describe, expect, it } from "vitest";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { createHandles } from "@colloquy/engine/internal/wiring/handle-cipher";
import { createLog, type LogOptions } from "./logging.ts";

const directory = mkdtempSync(join(tmpdir(), "colloquy-log-"));
const SESSION = "0a1b2c3d-1111-4222-8333-444455556666";
const handles = createHandles(new Uint8Array(32).fill(7));
const HANDLE = handles.of(SESSION);
let files = 0;

afterAll(() => rmSync(directory, { recursive: true }));

async function written(use: (logger: Logger) => void, options: Partial<LogOptions> = {}): Promise<string> {
  const path = join(directory, `${files++}.log`);
  const destination = openSync(path, "w");
  const log = createLog({ level: "info", readable: false, destination, ...options });
  log.useHandles(handles);
  use(log.logger);
  await log.drained();
  return readFileSync(path, "utf8");
}

async function line(use: (logger: Logger) => void): Promise<Record<string, unknown>> {
  return JSON.parse(await written(use)) as Record<string, unknown>;
}

describe("a line", () => {
  it("is JSON with level, time, fields and message", async () => {
    const { time, ...rest } = await line((logger) => logger.info({ turns: 3 }, "taken over"));
    expect(rest).toEqual({ level: "info", turns: 3, msg: "taken over" });
    expect(time).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  it("is not written if it is below the level", async () => {
    expect(await written((logger) => logger.debug({}, "x"))).toBe("");
    expect(await written((logger) => logger.error({}, "x"), { level: "silent" })).toBe("");
    expect(await written((logger) => logger.debug({}, "x"), { level: "debug" })).not.toBe("");
  });

  it("has a handle in place of a session id, in any field, text and child logger", async () => {
    const url = `/api/ai-sdk/chat/${SESSION.replaceAll("-", "%2d").toUpperCase()}/stream`;
    const fields = {
      target: SESSION,
      deep: { list: [{ [SESSION]: url }] },
      config: JSON.stringify({ id: SESSION }),
    };
    const text = await written((logger) =>
      (logger as PinoLogger)
        .child({ bound: SESSION })
        .info(fields, `of ${SESSION.toUpperCase()}, %s`, SESSION),
    );
    expect(JSON.parse(text)).toMatchObject({
      target: HANDLE,
      bound: HANDLE,
      deep: { list: [{ [HANDLE]: `/api/ai-sdk/chat/${HANDLE}/stream` }] },
      msg: `of ${HANDLE}, ${HANDLE}`,
    });
    expect(text).not.toMatch(/0a1b2c3d/i);
  });

  it("has a handle of no use before the installation's are known, never the id", async () => {
    const path = join(directory, `${files++}.log`);
    const log = createLog({ level: "info", readable: true, destination: openSync(path, "w") });
    log.logger.info({ session: SESSION }, "early");
    log.useHandles(handles);
    log.logger.info({ session: SESSION }, "late");
    await log.drained();
    const [early, late] = readFileSync(path, "utf8").split("\n");
    expect(early).toMatch(/early session=h_[\w-]{22}$/);
    expect(early).not.toContain(HANDLE);
    expect(late).toContain(`late session=${HANDLE}`);
  });

  it("has the ids of requests and operators as they are", async () => {
    const fields = { request_id: SESSION, actor_id: SESSION };
    expect(await line((logger) => logger.info(fields, "x"))).toMatchObject(fields);
  });

  it("has no key, message text or wallet", async () => {
    const fields = {
      apiKey: "hidden",
      authorization: "hidden",
      content: "hidden",
      text: "hidden",
      publicKey: "hidden",
      userState: { a: "hidden" },
      err: new Error("Refused: Bearer hidden"),
    };
    expect(await written((logger) => logger.info(fields, "x"))).not.toContain("hidden");
  });

  it("is one readable line for a terminal", async () => {
    const text = await written(
      (logger) => logger.warn({ address: "http://127.0.0.1:1", turns: 2 }, "listening"),
      {
        readable: true,
      },
    );
    expect(text).toMatch(/^\d\d:\d\d:\d\d WARN {2}listening address=http:\/\/127\.0\.0\.1:1 turns=2\n$/);
  });
});

describe("an error in the log", () => {
  it("has its type, message, code, stack and causes", async () => {
    const cause = Object.assign(new TypeError("no route"), { code: "ENETUNREACH" });
    const { err } = await line((logger) => logger.error({ err: new Error("failed", { cause }) }, "x"));
    expect(err).toMatchObject({
      type: "Error",
      message: "failed",
      stack: expect.stringContaining("logging.test.ts") as string,
      cause: { type: "TypeError", message: "no route", code: "ENETUNREACH" },
    });
  });

  it("contains no part of a rejected provider request", async () => {
    const error = new APICallError({
      message: "Incorrect API key provided: sk-proj-abcdefgh12345678",
      url: "https://api.example.test/v1",
      requestBodyValues: { messages: [{ role: "user", content: "my secret diary" }] },
      responseBody: "my secret diary",
      statusCode: 401,
    });
    const text = await written((logger) => logger.error({ err: error }, "x"));
    expect(text).toContain("Incorrect API key provided: [redacted]");
    expect(text).not.toContain("diary");
    expect(text).not.toContain("sk-proj");
  });

  it("has a handle in place of a session id in message, stack and causes", async () => {
    const cause = Object.assign(new Error(`Key (id)=(${SESSION}) already exists.`), { code: SESSION });
    const error = new Error(`no session ${SESSION}`, { cause });
    error.stack = `${error.stack}\n    at ${SESSION} (file:///x)`;
    const text = await written((logger) => logger.error({ err: error }, "x"));
    for (const found of [
      `no session ${HANDLE}`,
      `(id)=(${HANDLE})`,
      `at ${HANDLE} (file`,
      `"code":"${HANDLE}"`,
    ])
      expect(text).toContain(found);
    expect(text).not.toContain("0a1b2c3d");
  });

  it("has no part of a session id where a long message is cut", async () => {
    for (let room = 0; room < SESSION.length; room += 1) {
      const error = new Error("x".repeat(4000 - room) + SESSION);
      expect(await written((logger) => logger.error({ err: error }, "x"))).not.toContain("0a1b2c3d");
    }
  });

  it("may be any thrown value, and its own cause", async () => {
    expect((await line((logger) => logger.error({ err: "text" }, "x")))["err"]).toEqual({
      type: "string",
      message: "text",
    });
    const loop = new Error("loop");
    loop.cause = loop;
    expect(await written((logger) => logger.error({ err: loop }, "x"))).toContain("loop");
  });
});

it("writes everything logged before the exit after the event loop was blocked", () => {
  const program = `
    import { createLog } from ${JSON.stringify(import.meta.resolve("./logging.ts"))};
    const { logger, flush } = createLog({ level: "info", destination: 1, readable: false });
    logger.info({}, "first");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    logger.info({}, "last");
    process.exit(flush() ? 0 : 1);
  `;
  const run = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  expect(run.stderr).toBe("");
  expect(run.status).toBe(0);
  expect(run.stdout).toContain('"last"');
});

it("writes everything logged before the exit, in order", async () => {
  const program = `
    import { createLog } from ${JSON.stringify(import.meta.resolve("./logging.ts"))};
    const { logger, flush } = createLog({ level: "info", destination: 1, readable: false });
    for (let i = 0; i < 5000; i++) logger.info({ i }, "line");
    flush();
    process.exit(0);
  `;
  const run = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  expect(run.stderr).toBe("");
  const numbers = run.stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { i: number }).i);
  expect(numbers).toEqual(Array.from({ length: 5000 }, (_, i) => i));
});
