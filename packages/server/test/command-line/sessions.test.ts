// `colloquy sessions` beside a running server, without one, and for a remote service.

import { randomBytes, randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RememberedThreads } from "../../src/cli/chat/remembered-threads.ts";
import { isWithoutPostgres } from "../postgres-server.ts";
import { usePostgres } from "../use-postgres.ts";
import { Service } from "./service.ts";
import { OtherService } from "./other-service.ts";

const ADMIN_KEY = "command-line-admin-key-0123456789";

interface Listed {
  readonly handle: string;
  readonly session_id: string;
  readonly status: string;
  readonly message_count: number;
}

/** Creates a session with this message and its answer; returns its id. */
async function said(service: Service, message: string): Promise<string> {
  const session = service.client.session();
  await session.send(message, { wait: true });
  session.stop();
  return session.id;
}

function listed(output: string): readonly Listed[] {
  return JSON.parse(output) as readonly Listed[];
}

describe("beside a running server", () => {
  let service: Service;
  beforeAll(async () => void (service = await Service.start()));
  afterAll(() => service.remove());
  const run = (...parameters: readonly string[]) => service.command(["sessions", ...parameters]);

  it("lists, shows and deletes sessions; the server evicts deleted ones", async () => {
    const kept = await said(service, "what is 12 * 7?");
    const gone = await said(service, "count to 3 \u001B[2J");
    const sessions = listed((await run("list", "--json")).output);
    expect(sessions).toMatchObject([
      { session_id: gone, status: "idle", message_count: 2 },
      { session_id: kept, status: "idle", message_count: 2 },
    ]);
    expect(listed((await run("list", "--json", "--status", "failed")).output)).toEqual([]);
    const table = await run("list");
    expect(table.output).toMatch(new RegExp(`^ID .*TITLE\\n[\\s\\S]*${kept} {2}idle .*what is 12`));
    const shown = await run("show", kept);
    expect(shown.output).toContain("> what is 12 * 7?\n* calculator");
    expect(shown.output).toContain("12 * 7 = 84.\n");
    expect((await run("show", gone)).output).not.toContain("\u001B");
    const [, { handle }] = sessions as [Listed, Listed];
    expect(shown.output).toContain(`Handle   ${handle}\n`);
    expect(await run("show", handle)).toEqual(shown);
    const trail = await service.command(["audit", "--target", handle, "--json"]);
    const targets = (JSON.parse(trail.output) as { readonly target: string }[]).map(({ target }) => target);
    expect(new Set(targets)).toEqual(new Set([kept]));
    expect(await run("delete", handle)).toMatchObject({ code: 2, output: "" });
    expect(await run("delete", gone)).toEqual({ code: 0, output: `${gone} is deleted.\n`, errors: "" });
    await expect(service.client.getSession(gone)).rejects.toMatchObject({ status: 404 });
    expect(await run("delete", gone)).toMatchObject({ code: 1, output: "" });
    expect((await service.client.getSession(kept)).title).toBe("what is 12 * 7?");
  });

  it("removes deleted sessions from the terminal's own list", async () => {
    const state = join(service.directory, "state");
    const name = `file:${join(service.directory, "data")}`;
    const threads = new RememberedThreads(join(state, "colloquy/threads.jsonl"), name);
    const [kept, gone] = [await said(service, "count to 2"), await said(service, "count to 3")];
    for (const session_id of [kept, gone]) {
      const { messages } = await service.client.session(session_id).refresh();
      await threads.remember({ session_id, title: "T", app: "default", messages });
    }
    const deleted = await service.command(["sessions", "delete", gone], { XDG_STATE_HOME: state });
    expect(deleted.code).toBe(0);
    expect((await threads.list()).map(({ session_id: id }) => id)).toEqual([kept]);
  });

  it("deletes nothing if the server has no admin API, and reports the missing setting", async () => {
    const id = await said(service, "count to 3");
    const refused = await service.command(["sessions", "delete", id], { COLLOQUY_ADMIN_KEY: ADMIN_KEY });
    expect(refused).toMatchObject({ code: 1, output: "" });
    expect(refused.errors).toMatch(/^Colloquy: There is no admin API at [^\n]+COLLOQUY_ADMIN_KEY set\.\n$/);
    expect((await service.client.getSession(id)).session_id).toBe(id);
  });
});

describe("where another service answers at the configured address", () => {
  let service: Service;
  let stranger: OtherService;
  beforeAll(async () => {
    stranger = await OtherService.start();
    service = await Service.start({ environment: { COLLOQUY_ADMIN_KEY: ADMIN_KEY } });
  });
  afterAll(async () => {
    await service.remove();
    await stranger.stop();
  });

  it("uses the server that owns the data directory, and sends nothing to the other one", async () => {
    const id = await said(service, "count to 3");
    const deleted = await service.command(["sessions", "delete", id], { PORT: stranger.port });
    expect(deleted).toEqual({ code: 0, output: `${id} is deleted.\n`, errors: "" });
    await expect(service.client.getSession(id)).rejects.toMatchObject({ status: 404 });
    expect(stranger.received).toEqual([]);
  });

  it("sends nothing if the server that owns the data directory cannot be found", async () => {
    const id = await said(service, "count to 3");
    await rm(join(service.directory, "data/server.address"), { force: true });
    const refused = await service.command(["sessions", "delete", id], { PORT: stranger.port });
    expect(refused).toMatchObject({ code: 1, output: "" });
    expect(refused.errors).toMatch(/^Colloquy: [^\n]+ it has not said where it is\. [^\n]+--url[^\n]+\n$/);
    expect((await service.client.getSession(id)).session_id).toBe(id);
    expect(stranger.received).toEqual([]);
  });
});

describe("without a server", () => {
  let service: Service;
  beforeAll(async () => void (service = await Service.start()));
  afterAll(() => service.remove());
  const run = (...parameters: readonly string[]) => service.command(["sessions", ...parameters]);

  it("deletes in the store, and explains invalid arguments", async () => {
    const id = await said(service, "count to 3");
    await service.stop();
    expect(await run("delete", id)).toEqual({ code: 0, output: `${id} is deleted.\n`, errors: "" });
    expect((await run("list")).output).toBe("No sessions match.\n");
    const absent = await run("show", randomUUID());
    expect(absent).toMatchObject({ code: 1, output: "" });
    expect(absent.errors).toMatch(/^Colloquy: There is no session with the id [^\n]+\n$/);
    expect(await run("show", "x")).toMatchObject({ code: 2, output: "" });
    expect(await run("list", "--url", "nowhere")).toMatchObject({ code: 2, output: "" });
  });
});

describe("with a remote service and its admin key", () => {
  let service: Service;
  beforeAll(async () => {
    service = await Service.start({ environment: { COLLOQUY_ADMIN_KEY: ADMIN_KEY } });
  });
  afterAll(() => service.remove());

  /** Runs the command without any configuration. */
  const run = (parameters: readonly string[], key = ADMIN_KEY, url = service.url) =>
    service.command(["sessions", ...parameters, "--url", url], { COLLOQUY_ADMIN_KEY: key });

  it("lists, shows and deletes sessions as on a local service", async () => {
    const first = await said(service, "what is 12 * 7?");
    const second = await said(service, "count to 3");
    const everything = await run(["list", "--json"]);
    expect(everything).toEqual(await service.command(["sessions", "list", "--json"]));
    expect(listed(everything.output).map(({ session_id: id }) => id)).toEqual([second, first]);
    expect(listed((await run(["list", "--json", "--limit", "1"])).output)).toMatchObject([
      { session_id: second },
    ]);
    expect((await run(["list", "--status", "failed"])).output).toBe("No sessions match.\n");
    for (const json of [[], ["--json"]]) {
      const shown = await run(["show", first, ...json]);
      expect(shown).toMatchObject({ code: 0, errors: "" });
      expect(shown).toEqual(await service.command(["sessions", "show", first, ...json]));
    }
    const created = await service.command(["keys", "create", "--scope", "admin:read", "--json"]);
    const { key } = JSON.parse(created.output) as { readonly key: string };
    const [, { handle }] = listed(everything.output) as [Listed, Listed];
    const read = await run(["list", "--json"], key);
    expect(listed(read.output)[1]).toMatchObject({ session_id: handle, handle });
    expect(read.output).not.toContain(first);
    const messages = await run(["show", handle, "--json"], key);
    expect(messages).toMatchObject({ code: 0, errors: "" });
    expect(messages.output).not.toContain(first);
    const absent = randomUUID();
    expect(await run(["show", absent])).toMatchObject({ code: 1, output: "" });
    const deleted = await run(["delete", second, absent, "--json"]);
    expect(deleted.code).toBe(1);
    expect(JSON.parse(deleted.output)).toEqual({ deleted: [second], absent: [absent] });
    await expect(service.client.getSession(second)).rejects.toMatchObject({ status: 404 });
  });

  it.each([
    ["no key", "", () => service.url, 2, /Set COLLOQUY_ADMIN_KEY/],
    [
      "a wrong key",
      "another-key-0123456789-0123456789",
      () => service.url,
      1,
      /rejects this COLLOQUY_ADMIN_KEY/,
    ],
    [
      "no service there",
      ADMIN_KEY,
      () => "http://127.0.0.1:1",
      1,
      /Nothing answers at http:\/\/127\.0\.0\.1:1\./,
    ],
    ["a path where none is", ADMIN_KEY, () => `${service.url}/chat`, 1, /Check the URL/],
  ])("changes nothing with %s, and gives advice in one sentence", async (_, key, url, code, why) => {
    const id = await said(service, "count to 2");
    for (const parameters of [["list"], ["show", id], ["delete", id]]) {
      const refused = await run(parameters, key, url());
      expect(refused).toMatchObject({ code, output: "" });
      expect(refused.errors).toMatch(why);
      expect(refused.errors).toMatch(/^Colloquy: [^\n]+\n$/);
    }
    expect((await service.client.getSession(id)).session_id).toBe(id);
  });
});

describe.skipIf(await isWithoutPostgres())("on PostgreSQL", () => {
  const postgres = usePostgres();
  let service: Service;
  beforeAll(async () => {
    const environment = {
      COLLOQUY_DATABASE_URL: postgres.url(await postgres.createDatabase()),
      COLLOQUY_SECRET_KEY: randomBytes(32).toString("base64"),
    };
    service = await Service.start({ environment });
  });
  afterAll(() => service.remove());

  it("deletes in the database beside a running server, which evicts the sessions without a request", async () => {
    const stranger = await OtherService.start();
    try {
      const kept = await said(service, "what is 12 * 7?");
      const gone = await said(service, "count to 3");
      const more = { COLLOQUY_ADMIN_KEY: ADMIN_KEY, PORT: stranger.port };
      expect(await service.command(["sessions", "delete", gone], more)).toMatchObject({ code: 0 });
      await expect(service.client.getSession(gone)).rejects.toMatchObject({ status: 404 });
      expect((await service.client.getSession(kept)).session_id).toBe(kept);
      await service.client.deleteThread(kept);
      expect(stranger.received).toEqual([]);
    } finally {
      await stranger.stop();
    }
  });

  it("deletes in the database when no server runs", async () => {
    const kept = await said(service, "what is 12 * 7?");
    const gone = await said(service, "count to 3");
    await service.stop();
    expect(await service.command(["sessions", "delete", gone])).toEqual({
      code: 0,
      output: `${gone} is deleted.\n`,
      errors: "",
    });
    expect(await service.command(["sessions", "delete", gone])).toMatchObject({ code: 1, output: "" });
    await service.run();
    await expect(service.client.getSession(gone)).rejects.toMatchObject({ status: 404 });
    expect(listed((await service.command(["sessions", "list", "--json"])).output)).toMatchObject([
      { session_id: kept },
    ]);
  });
});
