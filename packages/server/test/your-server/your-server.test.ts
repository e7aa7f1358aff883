// Runs one suite on all examples of docs/guides/your-server.md, in front of the real service.

import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { UpdateEvent } from "@colloquy/protocol";
import { send } from "../black-box/client.ts";
import type { Program } from "../black-box/server.ts";
import { Browser, signedLogin, type Stream } from "./browser.ts";
import { ALL, startColloquy, writeOwnUsers, YourServer, type Start } from "./examples.ts";

const EXAMPLES = join(import.meta.dirname, "../../../../examples");

const isAnswered = (event: UpdateEvent): boolean =>
  event.type === "message_completed" && event.message.sender === "agent";
const isDelta = (event: UpdateEvent): boolean => event.type === "message_delta";

it.each([
  ["users.json", "express", "fastapi"],
  ["users.json", "express", "next"],
  ["requests.json", "express", "fastapi"],
  ["requests.json", "express", "next"],
  ["public/index.html", "express", "fastapi"],
  ["public/index.html", "express", "next"],
])("%s is the same in examples/%s and examples/%s", async (file, ...examples) => {
  const [one, other] = await Promise.all(
    examples.map((folder) => readFile(join(EXAMPLES, folder, file), "utf8")),
  );
  expect(one).toBe(other);
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
      });

      it("cannot log in to a server for users, which says what to replace", async () => {
        expect(await logInAt({ isProduction: true })).toEqual(refusal);
      }, 300_000);

      // 127.0.0.2 stands for any address other than 127.0.0.1 and ::1.
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

    /** Returns each forwarded request on a session. */
    const requestsAbout = (session: string) =>
      [
        ["POST", "/api/control/model?rig=demo/assistant", { session }],
        ["GET", `/api/sessions/${session}`, {}],
        ["PATCH", `/api/sessions/${session}`, { json: { title: "Mine" } }],
        ["POST", `/api/sessions/${session}/fork`, { json: { session_id: randomUUID() } }],
        ["PUT", `/api/sessions/${session}/pin`, {}],
        ["PUT", `/api/sessions/${session}/messages/${randomUUID()}/feedback`, { json: { score: 1 } }],
        ["DELETE", `/api/sessions/${session}`, {}],
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
        const known = new Browser(server.url, cookie!);
        expect((await known.ask("GET", "/api/sessions", { session: randomUUID() })).status).toBe(200);
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
        }
      });

      it("cannot be used by pages of other sites", async () => {
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
      expect(await answer.text()).toBe(
        await readFile(join(EXAMPLES, example.name, "public/index.html"), "utf8"),
      );
    });

    // The Express example serves them from npm (page.test.ts).
    if (example.name !== "express")
      it("serves the components of the page, and no other file", async () => {
        const folder = join(program.directory, "components");
        await mkdir(join(folder, "element"), { recursive: true });
        await writeFile(join(folder, "styles.css"), "a {}");
        await writeFile(join(folder, "element/part.js"), "0");
        await writeFile(join(program.directory, "secret.js"), "1");
        const own = await YourServer.start(example, program, key, { environment: { COMPONENTS: folder } });
        try {
          const get = async (path: string) => {
            const answer = await new Browser(own.url, null).ask("GET", `/components/${path}`);
            return [answer.status, answer.headers.get("content-type")?.split(";")[0]];
          };
          expect(await get("styles.css")).toEqual([200, "text/css"]);
          expect(await get("element/part.js")).toEqual([200, expect.stringMatching(/javascript$/)]);
          for (const path of ["..%2Fsecret.js", "element/..%2F..%2Fsecret.js", "none.js", "element"])
            expect((await get(path))[0]).toBe(404);
        } finally {
          await own.stop();
        }
      });

    it("lists a user's own conversations in pages, newest first", async () => {
      const user = new Browser(server.url, signedLogin("mary"));
      const [older, newer, foreign] = [await user.create(), await user.create(), await grace.create()];
      for (const session of [older, newer]) await user.chat(session, "hello", { Prefer: "wait=10" });
      await grace.chat(foreign, "hello");
      const list = async (query: string) => {
        const answer = await user.ask("GET", `/api/sessions${query}`, { session: randomUUID() });
        const threads = (await answer.json()) as { readonly session_id: string }[];
        return { ids: threads.map(({ session_id }) => session_id), link: answer.headers.get("link") };
      };
      expect((await list("")).ids).toEqual([newer, older]);
      const { ids, link } = await list("?limit=1");
      expect(ids).toEqual([newer]);
      const cursor = /cursor=([^&>]+)/.exec(link!)![1]!;
      expect((await list(`?limit=1&cursor=${cursor}`)).ids).toEqual([older]);
    });

    it("rejects another user's session like one that does not exist", async () => {
      const session = await ada.create();
      await ada.chat(session, "hello", { Prefer: "wait=10" });
      for (const [method, path, call] of requestsAbout(session)) {
        const answer = await grace.ask(method, path, call);
        expect([answer.status, path]).toEqual([404, path]);
        expect(await answer.json()).toMatchObject({ code: "session_not_found" });
      }
      expect((await ada.stateWhen(session, () => true)).messages).toHaveLength(2);
    });

    it("edits a message, and answers again", async () => {
      const session = await ada.create();
      const say = async (message: string, replaces?: string) => {
        const json = { message, replaces, app: "default", client_id: "somebody" };
        const answer = await ada.ask("POST", "/api/chat", { session, json });
        expect(answer.status).toBe(200);
        const { messages, app } = await ada.stateWhen(session, ({ is_processing }) => !is_processing);
        expect(app).toBe("support");
        return messages.filter(({ sender }) => sender === "user");
      };
      const [first] = await say("hello");
      const [edited, ...others] = await say("hello again", first!.id);
      expect([edited!.content, others]).toEqual(["hello again", []]);
      expect(await say("hello again", edited!.id)).toHaveLength(1);
    });

    it("renames, copies, rates and deletes a conversation", async () => {
      const session = await ada.create();
      await ada.chat(session, "hello", { Prefer: "wait=10" });
      const { messages } = await ada.stateWhen(session, ({ is_processing }) => !is_processing);
      const path = `/api/sessions/${session}`;
      const feedback = `${path}/messages/${messages.at(-1)!.id}/feedback`;
      const copy = randomUUID();
      const statuses = [
        await ada.ask("PATCH", path, { json: { title: "Tea" } }),
        await ada.ask("PUT", `${path}/pin`),
        await ada.ask("PUT", feedback, { json: { score: -1, comment: "no" } }),
        await ada.ask("POST", `${path}/fork`, { json: { session_id: copy } }),
        await ada.ask("DELETE", path),
      ].map(({ status }) => status);
      expect(statuses).toEqual([200, 200, 200, 200, 200]);
      expect((await ada.stateWhen(copy, () => true)).title).toBe("Tea");
      expect((await grace.ask("GET", "/api/state", { session: copy })).status).toBe(404);
    });

    it.each([
      ["POST", "/api/chat", { json: { message: "hi", public_key: "0x1" } }, 400, "field_not_allowed"],
      ["POST", "/api/chat?public_key=0x1", { json: { message: "hi" } }, 400, "field_not_allowed"],
      ["GET", "/api/users/me/export", {}, 404, "route_not_found"],
      ["PUT", "/api/secrets", { json: {} }, 404, "route_not_found"],
    ] as const)("forwards no %s %s", async (method, path, call, status, code) => {
      const answer = await ada.ask(method, path, { session: randomUUID(), ...call });
      expect([answer.status, await answer.json()]).toMatchObject([status, { code }]);
    });

    it.each([
      ["/api/chat", { message: "a".repeat(256 * 1024) }],
      ["/login", { user: "ada", password: "a".repeat(256 * 1024) }],
    ])("reads no body of more than 256 KiB at %s", async (path, json) => {
      const answer = await ada.ask("POST", path, { session: randomUUID(), json });
      expect([answer.status, await answer.json()]).toMatchObject([413, { detail: expect.any(String) }]);
    });

    it("forwards no path that leaves its route", async () => {
      const json = { decision: "approve" };
      expect((await ada.ask("POST", "/api/actions/%2e%2e", { session: randomUUID(), json })).status).toBe(
        404,
      );
    });

    it("streams an answer while it is written", async () => {
      const session = await ada.create();
      const stream = await ada.follow(session);
      const { headers } = stream.answer;
      expect(headers.get("content-type")).toMatch(/^text\/event-stream/);
      expect(headers.get("cache-control")).toBe("no-store, no-transform");
      expect(headers.get("x-accel-buffering")).toBe("no");
      expect(headers.get("content-encoding")).toBeNull();
      expect((await ada.chat(session, "count to 1000")).status).toBe(200);
      // A server that buffers would send nothing before the end, which never comes without an interrupt.
      await stream.until(isDelta);
      const stopped = await ada.ask("POST", "/api/interrupt", { session });
      expect(await stopped.json()).toMatchObject({ status: "interrupted" });
      await stream.until(isAnswered);
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
        const { id: last } = await stream.until(isAnswered);
        stream.leave();
        const ids = stream.received.flatMap(({ id }) => (id === null ? [] : [id]));
        return ids.slice(0, ids.indexOf(last!) + 1);
      };
      const all = await idsOf(whole);
      expect(all).toContain(id);
      expect(await idsOf(again)).toEqual(all.slice(all.indexOf(id!) + 1));
    });

    it("closes the stream from Colloquy when the browser disconnects", async () => {
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
        code: "unreachable",
        detail: "The assistant cannot be reached. Try again in a moment.",
      });
    });
  });
}
