import type { Problem } from "@colloquy/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import type { HttpConfig } from "../edge.ts";
import { keyed, startEdges, type TestEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

const SLOTS = [
  { name: "ALCHEMY_KEY", description: "Key of a provider", required: true },
  { name: "OTHER_KEY", description: "Another one", required: false },
];
const app = { secrets: SLOTS };
const edges = await startEdges({ apps: { default: app, defi: app, games: app } });
/** Keys that open the App `defi`, another one, and both. */
const { headers: KEY } = keyed(await edges.key(["defi"]));
const second = keyed(await edges.key(["defi"]));
const other = keyed(await edges.key(["games"]));
const both = keyed(await edges.key(["defi", "games"]));

/** Returns the names that are set in the App `defi` of the client `clientId`. */
const stored = (clientId: string) => edges.testEdge().services.secrets.names("defi", clientId);
let clients = 0;
let WEB = "";
let CLIENT = "";
beforeEach(() => {
  CLIENT = `web-${(clients += 1)}`;
  WEB = `/api/secrets?client_id=${CLIENT}&app=defi`;
});

const put = (edge: TestEdge, payload: unknown, url = WEB, headers: Record<string, string> = KEY) =>
  edge.send("PUT", url, {
    headers: { "content-type": "application/json", ...headers },
    payload: JSON.stringify(payload),
  });

describe("/api/secrets", () => {
  it("accepts values and returns the names that are set, never the values", async () => {
    const edge = edges.testEdge();
    const set = await put(edge, { ALCHEMY_KEY: "hunter22" });
    expect([set.statusCode, set.json()]).toEqual([200, ["ALCHEMY_KEY"]]);
    expect((await put(edge, { OTHER_KEY: "hunter33" })).json()).toEqual(["ALCHEMY_KEY", "OTHER_KEY"]);
    const listed = await edge.send("GET", WEB, { headers: KEY });
    expect([listed.statusCode, listed.json()]).toEqual([200, ["ALCHEMY_KEY", "OTHER_KEY"]]);
    for (const answer of [set, listed]) {
      expect(answer.headers["cache-control"]).toBe("no-store");
      expect(answer.body).not.toContain("hunter");
    }
    expect(JSON.stringify(edge.lines)).not.toContain("hunter");
  });

  it("removes one secret or all, and returns how many", async () => {
    const edge = edges.testEdge();
    await put(edge, { ALCHEMY_KEY: "hunter22", OTHER_KEY: "hunter33" });
    const remove = async (more: string) =>
      (await edge.send("DELETE", `${WEB}${more}`, { headers: KEY })).json<object>();
    expect(await remove("&name=ALCHEMY_KEY")).toEqual({ removed: 1, cleared: true });
    expect(await remove("&name=ALCHEMY_KEY")).toEqual({ removed: 0, cleared: true });
    await put(edge, { ALCHEMY_KEY: "hunter22" });
    expect(await remove("")).toEqual({ removed: 2, cleared: true });
    expect((await edge.send("GET", WEB, { headers: KEY })).json()).toEqual([]);
  });

  it("separates clients and Apps", async () => {
    const edge = edges.testEdge();
    await put(edge, { ALCHEMY_KEY: "hunter22" });
    for (const url of [
      `/api/secrets?client_id=another-${CLIENT}&app=defi`,
      `/api/secrets?client_id=${CLIENT}&app=games`,
    ]) {
      expect((await edge.send("GET", url, both)).json()).toEqual([]);
      await edge.send("DELETE", url, both);
    }
    expect((await edge.send("GET", WEB, { headers: KEY })).json()).toEqual(["ALCHEMY_KEY"]);
  });

  it.each(["GET", "PUT", "DELETE"] as const)(
    "%s requires the App's key, before any other check",
    async (method) => {
      const edge = edges.testEdge();
      for (const [headers, status, code] of [
        [{}, 401, "app_key_invalid"],
        [{ "service-app-key": "wrong" }, 401, "app_key_invalid"],
        [other.headers, 403, "app_forbidden"],
      ] as const) {
        expectProblem(
          await edge.send(method, WEB, {
            headers: { ...headers, "content-type": "application/json" },
            ...(method === "PUT" && { payload: '{"ALCHEMY_KEY":"hunter22"}' }),
          }),
          status,
          code,
        );
        if (status === 401) {
          const broken = {
            headers: { ...headers, "content-type": "application/json" },
            ...(method === "PUT" && { payload: "{" }),
          };
          expectProblem(
            await edge.send(method, "/api/secrets?app=defi&client_id=", broken),
            401,
            "app_key_invalid",
          );
        }
      }
      expect(await stored(CLIENT)).toEqual([]);
    },
  );

  it.each<[string, Partial<HttpConfig>]>([
    ["beyond a loopback bind", { loopback: false }],
    ["behind a proxy", { trustedProxies: ["127.0.0.1"] }],
  ])("accepts the default App from this machine only, and rejects it %s", async (_where, changes) => {
    const url = `/api/secrets?client_id=${CLIENT}`;
    const near = edges.testEdge();
    expect((await put(near, { ALCHEMY_KEY: "hunter22" }, url, {})).statusCode).toBe(200);
    expect((await near.send("GET", `${url}&app=default`)).json()).toEqual(["ALCHEMY_KEY"]);
    const far = edges.testEdge(changes);
    for (const headers of [{}, KEY]) {
      expectProblem(await put(far, { ALCHEMY_KEY: "hunter22" }, url, headers), 403, "secrets_need_key");
      expectProblem(await far.send("GET", url, { headers }), 403, "secrets_need_key");
      expectProblem(await far.send("DELETE", `${url}&app=default`, { headers }), 403, "secrets_need_key");
    }
    expect((await put(far, { ALCHEMY_KEY: "hunter22" })).statusCode).toBe(200);
  });

  it("takes an empty object, which sets nothing", async () => {
    const answer = await put(edges.testEdge(), {});
    expect([answer.statusCode, answer.json()]).toEqual([200, []]);
  });

  it("refuses a name that objects have already", async () => {
    const body = JSON.parse('{"__proto__":"hunter22"}') as object;
    expectProblem(await put(edges.testEdge(), body), 400, "secret_slot_unknown");
  });

  it.each([
    [
      "an undeclared slot",
      { ALCHEMY_KEY: "fine", "sk-in-the-wrong-place": "ALCHEMY_KEY" },
      "secret_slot_unknown",
    ],
    ["an empty value", { ALCHEMY_KEY: "" }, "parameter_invalid"],
    ["a value that is too long", { ALCHEMY_KEY: "x".repeat(8_193) }, "parameter_invalid"],
    ["a value with a line feed", { ALCHEMY_KEY: "hunter\n22" }, "parameter_invalid"],
    ["a value with NUL", { ALCHEMY_KEY: "hunter\u000022" }, "text_invalid"],
    ["a number", { ALCHEMY_KEY: 123_456 }, "parameter_invalid"],
    ["null", { ALCHEMY_KEY: null }, "parameter_invalid"],
    ["a list of values", { ALCHEMY_KEY: ["hunter22"] }, "parameter_invalid"],
    ["a list", ["hunter22"], "body_invalid"],
    ["a text", "hunter22", "body_invalid"],
  ])("rejects %s, sets nothing and echoes no value", async (_, body, code) => {
    const edge = edges.testEdge();
    const answer = await put(edge, body);
    expectProblem(answer, 400, code);
    // The request id is random and may contain any digits.
    const { request_id: _id, ...problem } = answer.json<Problem>();
    expect(JSON.stringify(problem)).not.toMatch(/hunter|sk-|123|xxx/);
    expect(await stored(CLIENT)).toEqual([]);
    expect(JSON.stringify(edge.lines)).not.toMatch(/hunter|sk-/);
  });

  it("accepts values of the maximum length and all characters but controls, and rejects a body without a value", async () => {
    const edge = edges.testEdge();
    expect((await put(edge, { ALCHEMY_KEY: "€".repeat(8_192) })).statusCode).toBe(200);
    expect((await put(edge, { ALCHEMY_KEY: " 😀 " })).statusCode).toBe(200);
    expectProblem(await edge.send("PUT", WEB, { headers: KEY }), 400, "body_invalid");
    const broken = {
      headers: { ...KEY, "content-type": "application/json" },
      payload: '{"ALCHEMY_KEY": "hunter22',
    };
    const answer = await edge.send("PUT", WEB, broken);
    expectProblem(answer, 400, "json_invalid");
    expect(answer.body).not.toContain("hunter");
  });

  it.each([
    ["", "parameter_missing"],
    ["client_id=", "parameter_invalid"],
    [`client_id=${"x".repeat(129)}`, "parameter_invalid"],
    ["client_id=a&client_id=b", "parameter_repeated"],
  ])("rejects ?%s", async (query, code) => {
    const edge = edges.testEdge();
    for (const method of ["GET", "DELETE"] as const) {
      expectProblem(await edge.send(method, `/api/secrets?app=defi&${query}`, { headers: KEY }), 400, code);
    }
    expectProblem(await put(edge, { ALCHEMY_KEY: "x" }, `/api/secrets?app=defi&${query}`), 400, code);
  });

  it("rejects an invalid name", async () => {
    const answer = await edges.testEdge().send("DELETE", `${WEB}&name=`, { headers: KEY });
    expectProblem(answer, 400, "parameter_invalid");
  });

  it("gives 503 while secrets cannot be decrypted", async () => {
    const edge = edges.testEdge();
    edges.intercept((method) => {
      if (!method.startsWith("secrets.")) return undefined;
      throw new Unavailable(503, "secrets_unavailable", "There is no master key here.", 60);
    });
    expectProblem(await edge.send("GET", WEB, { headers: KEY }), 503, "secrets_unavailable");
    expectProblem(await put(edge, { ALCHEMY_KEY: "hunter22" }), 503, "secrets_unavailable");
    expect(JSON.stringify(edge.lines)).not.toContain("hunter");
    expect(JSON.stringify(edge.lines)).not.toContain(CLIENT);
  });

  it("is limited like chats, per key, beyond loopback", async () => {
    const rateLimits = { chatsPerMinute: 2, newSessionsPerMinute: 9, streamsPerAddress: 9 };
    const edge = edges.testEdge({ loopback: false, rateLimits });
    expect((await put(edge, { ALCHEMY_KEY: "a" })).statusCode).toBe(200);
    expect((await edge.send("GET", WEB, { headers: KEY })).statusCode).toBe(200);
    expectProblem(await edge.send("DELETE", WEB, { headers: KEY }), 429, "rate_limited");
    expect((await edge.send("GET", WEB, second)).statusCode).toBe(200);
    await edges.pass(60_000);
    expect((await edge.send("GET", WEB, { headers: KEY })).statusCode).toBe(200);
  });

  it("gives 503 while the service stops", async () => {
    const edge = edges.testEdge();
    edge.stop();
    expectProblem(await put(edge, { ALCHEMY_KEY: "hunter22" }), 503, "stopping");
  });
});
