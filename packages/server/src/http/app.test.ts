import { randomUUID } from "node:crypto";
import { METHODS } from "node:http";
import { describe, expect, it } from "vitest";
import { Conflict, Unavailable } from "@colloquy/engine/internal/core/errors";
import { startEdges } from "./testing/edge.ts";
import { expectProblem } from "./testing/expect-problem.ts";

const edges = await startEdges();
const { testEdge } = edges;
const SESSION = randomUUID();

describe("a request without an operation", () => {
  it.each(["/", "/api", "/api/nothing", "/api/nothing/", "//api/nothing", "/API/state", "/healthz/", "*"])(
    "is answered with 404: %s",
    async (url) => {
      expectProblem(await testEdge().send("GET", url), 404, "route_not_found");
    },
  );

  it.each(["/api/state/", "/api/state/?client_id=a", `/api/sessions/${SESSION}/messages/`])(
    "ignores one slash at the end of an API path: %s",
    async (url) => {
      const edge = testEdge();
      const headers = { "x-session-id": SESSION };
      await edge.send("POST", "/api/sessions", { headers });
      expect((await edge.app.inject({ method: "GET", url, headers })).statusCode).toBe(200);
      expectProblem(await edge.send("GET", "/api/chat/"), 405, "method_not_allowed");
    },
  );

  it.each([
    ["GET", "//api/state", "/api/state"],
    ["GET", "/api//state?client_id=a&x=//", "/api/state?client_id=a&x=//"],
    ["POST", "/api///chat//?message=a", "/api/chat?message=a"],
    ["DELETE", `/api/sessions//${SESSION}`, `/api/sessions/${SESSION}`],
  ] as const)("redirects doubled slashes, also behind a path prefix: %s %s", async (method, url, to) => {
    const answer = await testEdge().app.inject({ method, url });
    expect(answer.statusCode).toBe(308);
    for (const prefix of ["", "/assistant", "/a/b"]) {
      const base = `http://chat.test${prefix}`;
      expect(new URL(String(answer.headers["location"]), base + url).href).toBe(base + to);
    }
  });

  it.each([
    "/api/admin/keys/",
    "/api//admin/keys",
    "//api/admin/keys",
    "/api/admin//keys",
    "/api/%61dmin/keys/",
    "/api/%61dmin//keys",
    "//evil.test/api",
  ])("has no second spelling below /api/admin, nor on another host: %s", async (url) => {
    const answer = await testEdge({}, { hasAdmin: true }).send("GET", url);
    expectProblem(answer, 404, "route_not_found");
  });

  it.each(["text/csv", "application/json", "a/b; charset=x", ";;", "", "multipart/form-data"])(
    "is 405 for each method that HTTP knows on each known path, with the content type %j",
    async (type) => {
      const edge = testEdge();
      const paths = ["/api/chat", "/api/state", `/api/sessions/${SESSION}`, "/api/actions/a", "/healthz"];
      for (const url of paths) {
        for (const method of METHODS.filter((name) => !["CONNECT", "OPTIONS"].includes(name))) {
          const payload = ["GET", "HEAD"].includes(method) ? {} : { payload: "x" };
          const { statusCode, headers } = await edge.app.inject({
            method: method as "GET",
            url,
            headers: { "x-session-id": SESSION, "content-type": type },
            ...payload,
          });
          const allow = (await edge.app.inject({ method: "OPTIONS", url })).headers["allow"];
          if (String(allow).split(", ").includes(method)) continue;
          expect([method, url, statusCode, headers["allow"]]).toEqual([method, url, 405, allow]);
        }
      }
    },
  );

  it.each([
    ["POST", "/api/state", "GET, HEAD, OPTIONS"],
    ["GET", "/api/chat", "POST, OPTIONS"],
    ["HEAD", "/api/updates", "GET, OPTIONS"],
    ["PUT", `/api/sessions/${SESSION}`, "DELETE, GET, HEAD, PATCH, OPTIONS"],
    ["DELETE", "/api/sessions?public_key=x", "GET, HEAD, POST, OPTIONS"],
    ["TRACE", "/healthz", "GET, HEAD, OPTIONS"],
  ] as const)("is answered with 405 and the allowed methods: %s %s", async (method, url, allow) => {
    const answer = await testEdge().send(method, url);
    expect(answer.headers["allow"]).toBe(allow);
    if (method !== "HEAD") expectProblem(answer, 405, "method_not_allowed");
    expect(answer.statusCode).toBe(405);
  });

  it("responds to OPTIONS that is no preflight with the allowed methods", async () => {
    const answer = await testEdge().app.inject({ method: "OPTIONS", url: "/api/chat" });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers["allow"]).toBe("POST, OPTIONS");
  });

  it.each(["/%zz", "/api/%", "/api/sessions/%C3%28", "/api/state?a=%", "/x%00", "/x?y=%00"])(
    "is answered with 400 rather than 404: %s",
    async (url) => {
      const answer = await testEdge().send("GET", url);
      expectProblem(answer, 400, url.includes("%00") ? "text_invalid" : "url_encoding_invalid");
    },
  );
});

describe("X-Request-Id", () => {
  it.each(["abc", "A-z_0.9", "x".repeat(128)])("is the client's if that is %j", async (id) => {
    for (const url of ["/healthz", "/nowhere", "/%zz", "/api/state"]) {
      const answer = await testEdge().send("GET", url, { headers: { "x-request-id": id } });
      expect(answer.headers["x-request-id"]).toBe(id);
    }
  });

  it.each(["", "a b", "x".repeat(129), "a,b", "ä", 'a"b'])(
    "is a new one if the client's is %j",
    async (id) => {
      const answer = await testEdge().send("GET", "/nowhere", { headers: { "x-request-id": id } });
      expect(answer.headers["x-request-id"]).not.toBe(id);
      expectProblem(answer, 404, "route_not_found");
    },
  );

  it("costs a small multiple of the request's bytes if it may name a session of a long URL", async () => {
    const edge = testEdge();
    const url = `/nowhere?${"%2525252525252561".repeat(18_000)}`;
    const costOf = async (headers: Readonly<Record<string, string>>): Promise<number> => {
      const before = process.cpuUsage();
      for (let index = 0; index < 10; index += 1) await edge.send("GET", url, { headers });
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const least = async (headers: Readonly<Record<string, string>>): Promise<number> =>
      Math.min(await costOf(headers), await costOf(headers), await costOf(headers));
    expect(await least({ "x-request-id": randomUUID() })).toBeLessThan(5 * (await least({})));
  });

  it("differs from request to request", async () => {
    const edge = testEdge();
    const ids = new Set<unknown>();
    for (let index = 0; index < 5; index += 1) {
      ids.add((await edge.send("GET", "/healthz")).headers["x-request-id"]);
    }
    expect(ids.size).toBe(5);
  });
});

describe("an error thrown by a service", () => {
  it("is returned as a problem", async () => {
    const edge = testEdge();
    edges.intercept(() => {
      throw new Conflict("app_mismatch", "This session belongs to another App. Start a new one.");
    });
    const answer = await edge.send("POST", "/api/sessions");
    expect(expectProblem(answer, 409, "app_mismatch")).toContain("another App");
    expect(edge.lines).toEqual([]);
  });

  it("keeps its headers, and its cause is logged", async () => {
    const edge = testEdge();
    const cause = new Error("ENOSPC");
    edges.intercept(() => {
      throw new Unavailable(507, "disk_full", "The disk is full. Reads go on.", 7, cause);
    });
    const answer = await edge.send("POST", "/api/interrupt");
    expectProblem(answer, 507, "disk_full");
    expect(answer.headers["retry-after"]).toBe("7");
    expect(edge.lines).toMatchObject([{ level: "warn", fields: { code: "disk_full", err: cause } }]);
  });

  it("is a 500 with a fixed text if unexpected; the cause is logged under the request id", async () => {
    const edge = testEdge();
    const cause = new TypeError("secret of the house");
    edges.intercept(() => {
      throw cause;
    });
    const answer = await edge.send("POST", "/api/interrupt?message=private", {
      headers: { "service-app-key": "clq_private" },
    });
    expectProblem(answer, 500, "internal_error");
    expect(answer.body).not.toContain("secret");
    expect(edge.lines).toHaveLength(1);
    expect(edge.lines[0]).toMatchObject({
      level: "error",
      fields: {
        request_id: answer.headers["x-request-id"],
        route: "/api/interrupt",
        session: edge.session,
        err: cause,
      },
    });
    const logged = JSON.stringify(edge.lines);
    expect(logged).not.toContain("private");
  });

  it("is a 500 even if it is not an Error", async () => {
    const edge = testEdge();
    edges.intercept(() => {
      // oxlint-disable-next-line typescript/only-throw-error -- the subject of this test
      throw "a string";
    });
    expectProblem(await edge.send("POST", "/api/interrupt"), 500, "internal_error");
  });
});

describe("the log", () => {
  it("has no line for a normal request", async () => {
    const edge = testEdge();
    await edge.send("GET", "/api/state");
    await edge.send("GET", "/nowhere");
    expect(edge.lines).toEqual([]);
  });

  it("has a line for a slow request, unless the client asked to wait", async () => {
    const edge = testEdge();
    /** Sends a request that is slow, because its session is loaded slowly. */
    const send = async (headers: Record<string, string>) => {
      const { reached, open } = edges.gateAt("open");
      const answering = edge.send("GET", "/api/state", {
        headers: { "x-session-id": randomUUID(), ...headers },
      });
      await reached;
      await edges.pass(1500);
      open();
      await answering;
    };
    await send({ prefer: "wait=5" });
    expect(edge.lines).toEqual([]);
    await send({});
    expect(edge.lines).toMatchObject([
      { level: "warn", fields: { route: "/api/state", status: 200, milliseconds: 1500 } },
    ]);
  });

  it("has a line at debug level for one request in a thousand", async () => {
    const edge = testEdge();
    for (let index = 0; index < 1000; index += 1) await edge.send("GET", "/api/state");
    expect(edge.lines).toMatchObject([{ level: "debug", fields: { route: "/api/state" } }]);
  });
});
