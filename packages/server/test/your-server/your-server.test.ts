// The examples of "page → your server → Colloquy", all by one suite, in front of the real service.

import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UpdateEvent } from "@colloquy/protocol";
import { send } from "../black-box/client.ts";
import type { Program } from "../black-box/server.ts";
import { Browser, signedLogin, type Stream } from "./browser.ts";
import { visibleJson } from "@colloquy/client";
import { ALL, startColloquy, writeOwnUsers, YourServer, type Start } from "./examples.ts";

const EXAMPLES = join(import.meta.dirname, "../../../../examples");

const isAnswered = (event: UpdateEvent): boolean =>
  event.type === "message_completed" && event.message.sender === "agent";
const isDelta = (event: UpdateEvent): boolean => event.type === "message_delta";

describe.each(["users.json", "public/index.html"])("%s", (file) => {
  it.each(ALL)("is the same in examples/$name", async ({ name }) => {
    const [own, first] = await Promise.all(
      [name, "express"].map((folder) => readFile(join(EXAMPLES, folder, file), "utf8")),
    );
    expect(own).toBe(first);
  });
});

it("the page escapes what approvals must not hide, as `visibleJson` of @colloquy/client does", async () => {
  const page = await readFile(join(EXAMPLES, "express/public/index.html"), "utf8");
  const [code = ""] = /^ {4}function visibleJson[^]*?^ {4}\}$/m.exec(page) ?? [];
  const own = (await import(`data:text/javascript,${encodeURIComponent(`export ${code}`)}`)) as {
    readonly visibleJson: typeof visibleJson;
  };
  const all = Array.from({ length: 0x11_00_00 }, (_, point) => String.fromCodePoint(point)).join(" ");
  expect(own.visibleJson({ all }) === visibleJson({ all })).toBe(true);
  expect(page).toContain("visibleJson(request.input)");
});

it("the code of examples/express has no type errors", async () => {
  const compiler = join(EXAMPLES, "../node_modules/.bin/tsc");
  await expect(promisify(execFile)(compiler, ["-p", join(EXAMPLES, "express")])).resolves.toBeDefined();
});

it("the guide shows the code of examples/express", async () => {
  const [guide, code] = await Promise.all(
    [join(EXAMPLES, "../docs/guides/your-server.md"), join(EXAMPLES, "express/server.ts")].map((file) =>
      readFile(file, "utf8"),
    ),
  );
  const shown = [...guide!.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
  expect(shown).toHaveLength(2);
  for (const block of shown) expect(code).toContain(block);
});

for (const example of ALL) {
  describe.skipIf(example.isMissing)(`examples/${example.name}`, () => {
    let program: Program;
    let key: string;
    let server: YourServer;
    let ada: Browser;
    let grace: Browser;
    beforeAll(async () => {
      ({ program, key } = await startColloquy());
      server = await YourServer.start(example, program, key, {
        isProduction: true,
        environment: { USERS_FILE: await writeOwnUsers(program.directory) },
      });
      ada = new Browser(server.url, signedLogin("ada"));
      grace = new Browser(server.url, signedLogin("grace"));
    }, 300_000);
    afterAll(async () => {
      await server.stop();
      await program.remove();
    });

    describe("demo users", () => {
      /** Returns the answer to a demo user's login. */
      async function logInAt(start: Start): Promise<{ readonly status: number; readonly text: string }> {
        const own = await YourServer.start(example, program, key, start);
        try {
          const json = { user: "ada", password: "engine-no-1" };
          const answer = await new Browser(own.url, null).ask("POST", "/login", { json });
          return { status: answer.status, text: await answer.text() };
        } finally {
          await own.stop();
        }
      }
      const refusal = {
        status: 403,
        text: expect.stringMatching(/ada is a demo user, whose password is public\. Replace .*users\.json/),
      };

      it("can log in as the README starts the server", async () => {
        expect(await logInAt({})).toEqual({ status: 204, text: "" });
      }, 60_000);

      it("cannot log in to a server for users, which says what to replace", async () => {
        expect(await logInAt({ isProduction: true })).toEqual(refusal);
      }, 300_000);

      // Stands for every address but those that the examples know as their own machine's.
      it.skipIf(process.platform !== "linux")(
        "cannot log in to a server on another address, which says what to replace",
        async () => expect(await logInAt({ host: "127.0.0.2" })).toEqual(refusal),
        60_000,
      );
    });

    it("listens on 127.0.0.1 only", async () => {
      await expect(fetch(server.url.replace("127.0.0.1", "127.0.0.2"))).rejects.toThrow();
    });

    it.each(["/docs", "/redoc", "/openapi.json"])("serves no page of its framework at %s", async (path) => {
      expect((await new Browser(server.url, null).ask("GET", path)).status).toBe(404);
    });

    /** Waits until Colloquy has this many event streams open. */
    async function expectStreams(count: number): Promise<void> {
      const open = async () => {
        const { text } = await send(program.url, "GET", "/metrics");
        return Number(/^colloquy_streams_open (\d+)$/m.exec(text)?.[1]);
      };
      await expect.poll(open).toBe(count);
    }

    /** Every request that is about a session. */
    const requestsAbout = (session: string) =>
      [
        ["POST", "/api/chat", { session, json: { message: "hi" } }],
        ["GET", "/api/state", { session }],
        ["GET", `/api/updates?session=${session}`, {}],
        ["GET", "/api/updates", { session }],
        ["POST", "/api/interrupt", { session }],
        ["POST", "/api/actions/one", { session, json: { decision: "approve" } }],
      ] as const;

    describe("login", () => {
      const logIn = (user: string, password: string, headers = {}) =>
        new Browser(server.url, null).ask("POST", "/login", { json: { user, password }, headers });

      it("sets a cookie that scripts and other sites cannot use", async () => {
        const answer = await logIn("ada", "engine-no-1");
        expect(answer.status).toBe(204);
        const [cookie, ...attributes] = answer.headers.get("set-cookie")!.split(/; */);
        expect(attributes.map((text) => text.toLowerCase())).toEqual(
          expect.arrayContaining(["httponly", "samesite=lax", "path=/"]),
        );
        expect((await new Browser(server.url, cookie!).ask("GET", "/api/sessions")).status).toBe(200);
      });

      it.each([
        ["ada", "moth-in-relay-70"],
        ["nobody", "engine-no-1"],
        ["__proto__", ""],
      ])("refuses %s with the password %s", async (user, password) => {
        const answer = await logIn(user, password);
        expect([answer.status, answer.headers.get("set-cookie")]).toEqual([401, null]);
      });

      it("is required for everything", async () => {
        const session = await ada.create();
        const [, claim, signature] = /=(.*)\.(.*)$/.exec(signedLogin("grace"))!;
        const cookies = [
          null,
          "login=",
          "login=..",
          `login=${claim}.${signature!.slice(1)}`,
          signedLogin("ada").replace(/=[^.]*/, `=${Buffer.from("grace").toString("base64url")}`),
          signedLogin("ada", Date.now() - 1),
          signedLogin("ada", Date.now() + 60_000, "another secret"),
        ];
        for (const cookie of cookies) {
          const stranger = new Browser(server.url, cookie);
          for (const [method, path, call] of requestsAbout(session)) {
            expect((await stranger.ask(method, path, call)).status, `${method} ${path} ${cookie}`).toBe(401);
          }
          expect((await stranger.ask("GET", "/api/sessions")).status).toBe(401);
          expect((await stranger.ask("POST", "/api/sessions")).status).toBe(401);
        }
      });

      it("cannot be used by other sites", async () => {
        const session = await ada.create();
        for (const origin of ["https://evil.example", "null", `${server.url}.evil.example`]) {
          for (const [method, path, call] of requestsAbout(session)) {
            if (method === "GET") continue;
            const answer = await ada.ask(method, path, { ...call, headers: { Origin: origin } });
            expect(answer.status, `${path} from ${origin}`).toBe(403);
          }
          expect((await logIn("ada", "engine-no-1", { Origin: origin })).status).toBe(403);
        }
        expect((await ada.stateWhen(session, () => true)).messages).toEqual([]);
      });
    });

    it("serves the page without a login", async () => {
      const answer = await new Browser(server.url, null).ask("GET", "/");
      expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
      expect(await answer.text()).toBe(await readFile(join(EXAMPLES, "express/public/index.html"), "utf8"));
    });

    it("lists a user's own sessions, the newest first", async () => {
      const [older, newer, foreign] = [await ada.create(), await ada.create(), await grace.create()];
      const listed = (await (await ada.ask("GET", "/api/sessions")).json()) as string[];
      expect(listed.slice(0, 2)).toEqual([newer, older]);
      expect(listed).not.toContain(foreign);
    });

    it("refuses another user's session like one that does not exist", async () => {
      const session = await ada.create();
      for (const id of [session, "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c", "nonsense"]) {
        for (const [method, path, call] of requestsAbout(id)) {
          const answer = await grace.ask(method, path, call);
          expect([answer.status, path]).toEqual([404, path]);
          expect(await answer.json()).toEqual({ detail: "You have no such conversation." });
        }
      }
      expect((await ada.stateWhen(session, () => true)).messages).toEqual([]);
    });

    it("streams an answer while it is written", async () => {
      const session = await ada.create();
      const stream = await ada.follow(session);
      const { headers } = stream.answer;
      expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
      expect(headers.get("cache-control")).toBe("no-store, no-transform");
      expect(headers.get("x-accel-buffering")).toBe("no");
      expect(headers.get("content-encoding")).toBeNull();
      expect((await ada.chat(session, "count to 40")).status).toBe(200);
      await stream.until(isDelta);
      const { event } = await stream.until(isAnswered);
      expect(event).toMatchObject({ message: { content: expect.stringMatching(/^1 2 3[^]* 39 40$/) } });
      // A server that buffers would send the deltas with the end.
      const deltas = stream.received.filter(({ event }) => isDelta(event));
      expect(deltas.length).toBeGreaterThan(5);
      stream.leave();
    });

    it("passes on Last-Event-ID, so that a stream resumes where it broke", async () => {
      const session = await ada.create();
      const first = await ada.follow(session);
      await ada.chat(session, "hello");
      const { id } = await first.until((event) => event.type === "message_created");
      first.leave();
      await ada.stateWhen(session, ({ is_processing }) => !is_processing);
      const [again, whole] = await Promise.all([
        ada.follow(session, { "Last-Event-ID": id! }),
        ada.follow(session, { "Last-Event-ID": "0" }),
      ]);
      const idsOf = async (stream: Stream) => {
        await stream.until(isAnswered);
        stream.leave();
        return stream.received.flatMap(({ id }) => (id === null ? [] : [id]));
      };
      const all = await idsOf(whole);
      expect(all).toContain(id);
      expect(await idsOf(again)).toEqual(all.slice(all.indexOf(id!) + 1));
    });

    it("closes the stream from Colloquy when the browser goes away", async () => {
      const session = await ada.create();
      await expectStreams(0);
      const streams = [await ada.follow(session), await grace.follow(await grace.create())];
      await expectStreams(2);
      streams[0]!.leave();
      await expectStreams(1);
      streams[1]!.leave();
      await expectStreams(0);
    });

    it("interrupts an answer", async () => {
      const session = await ada.create();
      const stream = await ada.follow(session);
      await ada.chat(session, "count to 200");
      await stream.until(isDelta);
      const answer = await ada.ask("POST", "/api/interrupt", { session });
      expect(await answer.json()).toMatchObject({ status: "interrupted" });
      const { event } = await stream.until(isAnswered);
      expect(event).toMatchObject({ message: { status: "interrupted" } });
      stream.leave();
    });

    it("passes on a decision", async () => {
      const session = await ada.create();
      await ada.chat(session, "what is 12 * 7?");
      const asked = await ada.stateWhen(session, ({ pending_actions }) => pending_actions.length > 0);
      const path = `/api/actions/${asked.pending_actions[0]!.id}`;
      const answer = await ada.ask("POST", path, { session, json: { decision: "approve" } });
      expect(answer.status).toBe(200);
      const { messages } = await ada.stateWhen(session, ({ is_processing }) => !is_processing);
      expect(messages.at(-1)?.content).toContain("84");
    });

    it("passes on Colloquy's refusals and ETags", async () => {
      const session = await ada.create();
      const refused = await ada.chat(session, " ");
      expect(refused.status).toBe(400);
      expect(refused.headers.get("content-type")).toMatch(/^application\/problem\+json/);
      const etag = (await ada.ask("GET", "/api/state", { session })).headers.get("etag")!;
      const same = await ada.ask("GET", "/api/state", { session, headers: { "If-None-Match": etag } });
      expect(same.status).toBe(304);
    });

    it("stays up while Colloquy is down", async () => {
      const session = await ada.create();
      const stream = await ada.follow(session);
      await program.stop("SIGKILL");
      await stream.end().catch(() => undefined);
      const answer = await ada.ask("GET", "/api/state", { session });
      expect(answer.status).toBe(502);
      expect(await answer.json()).toEqual({
        detail: "The assistant cannot be reached. Try again in a moment.",
      });
    });
  });
}
