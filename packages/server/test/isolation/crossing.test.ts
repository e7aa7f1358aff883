// Requests that combine two Apps: the session of one, and the key or a parameter of the other.

import { request, type IncomingMessage } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chat, expectProblem, newSession, send, type Answer } from "../black-box/client.ts";
import { EventReader } from "../black-box/event-reader.ts";
import { claimCall, nameFile } from "./conversation.ts";
import {
  startIsolationService,
  type AppName,
  type Caller,
  type IsolationService,
} from "./isolation-service.ts";

let service: IsolationService;
beforeAll(async () => {
  service = await startIsolationService();
});
afterAll(() => service.close());

const key = (caller: Caller, app: AppName) => ({ "SERVICE-APP-KEY": service.keyOf(caller, app)! });

function expectNoTextsOf(app: AppName, text: string): void {
  const { conversation, app: ofApp, instructions } = service.apps[app].canaries;
  expect([...conversation, ...ofApp, instructions].filter((one) => text.includes(one))).toEqual([]);
}

function expectRefused(answer: Answer, status: number, app: AppName): void {
  expectProblem(answer, status);
  expectNoTextsOf(app, answer.text + JSON.stringify(answer.headers));
}

describe.each([
  ["chatty", "closed"],
  ["closed", "chatty"],
] as const)("a session of %s, with the other App %s", (of, other) => {
  it("rejects the other App as a parameter with 409, even with a key of both", async () => {
    const { session } = service.apps[of].conversation;
    const { rig } = service.apps[other];
    const headers = key("key of both", of);
    const before = await send(service.url, "GET", "/api/state", { session, headers });
    for (const path of [
      `/api/chat?message=hello&app=${other}`,
      "/api/chat?message=hello&app=default",
      "/api/chat?message=hello",
      `/api/control/model?rig=${rig}&app=${other}`,
      "/api/control/model?rig=demo/assistant&app=default",
    ]) {
      expectRefused(await send(service.url, "POST", path, { session, headers }), 409, of);
    }
    const after = await send(service.url, "GET", "/api/state", { session, headers });
    expect(after.text).toBe(before.text);
  });

  it("rejects an Idempotency-Key of this session that is sent without its key or with the other App", async () => {
    const { session } = service.apps[of].conversation;
    const repeated = { "Idempotency-Key": newSession(), Prefer: "wait=20" };
    const first = { session, headers: { ...key("own key", of), ...repeated } };
    const sent = await send(service.url, "POST", `/api/chat?message=hello&app=${of}`, first);
    expect(sent.status).toBe(200);
    for (const [path, headers] of [
      ["/api/chat?message=hello", repeated],
      ["/api/chat?message=other", repeated],
      [`/api/chat?message=hello&app=${other}`, { ...key("own key", other), ...repeated }],
    ] as const) {
      expectRefused(await send(service.url, "POST", path, { session, headers }), 409, of);
    }
  });

  it("rejects a model of the other App", async () => {
    const { session } = service.apps[of].conversation;
    const { rig } = service.apps[other];
    const path = `/api/control/model?rig=${rig}`;
    expectProblem(await send(service.url, "POST", path, { session, headers: key("own key", of) }), 400);
  });

  it("rejects the key of the other App, whether the request names that App or not", async () => {
    const { session } = service.apps[of].conversation;
    const headers = key("own key", other);
    for (const path of ["/api/control/models", `/api/control/models?app=${other}`]) {
      expectRefused(await send(service.url, "GET", path, { session, headers }), 403, of);
    }
    const { rig } = service.apps[of];
    expectRefused(
      await send(service.url, "POST", `/api/control/model?rig=${rig}`, { session, headers }),
      403,
      of,
    );
  });

  it("rejects the path of this session with the header of the other App's session", async () => {
    const { session } = service.apps[of].conversation;
    const own = { session: service.apps[other].conversation.session, headers: key("own key", other) };
    for (const [method, path] of [
      ["GET", `/api/sessions/${session}`],
      ["GET", `/api/sessions/${session}/messages`],
      ["DELETE", `/api/sessions/${session}`],
    ] as const) {
      expectRefused(await send(service.url, method, path, own), 403, of);
    }
    const rename = { ...own, json: { title: "Mine now" } };
    expectRefused(await send(service.url, "PATCH", `/api/sessions/${session}`, rename), 403, of);
  });

  it("does not find its action through a session of the other App", async () => {
    const { action } = service.apps[of].conversation;
    const own = {
      session: service.apps[other].conversation.session,
      headers: key("own key", other),
      json: { decision: "approve" },
    };
    expectRefused(await send(service.url, "POST", `/api/actions/${action}`, own), 404, of);
  });

  it("serves the files of its message and result in each protocol, but not through the other App", async () => {
    const { session, file, resultFile } = service.apps[of].conversation;
    const { session: otherSession } = service.apps[other].conversation;
    const packed = (uuid: string) => Buffer.from(uuid.replaceAll("-", ""), "hex").toString("base64url");
    const post = (path: string, caller: Caller, json: object) =>
      send(service.url, "POST", path, { headers: key(caller, other), json });
    const readMcp = (uri: string) => ({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri } });
    for (const id of [file, resultFile]) {
      const get = (path: string, at: string, caller: Caller, app: AppName) =>
        send(service.url, "GET", path, { session: at, headers: key(caller, app) });
      const ofFile = (at: string) => `/v1/files/file-${packed(at)}${packed(id)}/content`;
      const uri = (at: string) => `colloquy://sessions/${at}/files/${id}`;
      const served = [
        await get(`/api/files/${id}`, session, "own key", of),
        await get(ofFile(session), session, "own key", of),
        await send(service.url, "POST", `/mcp?app=${of}`, {
          headers: key("own key", of),
          json: readMcp(uri(session)),
        }),
      ];
      for (const { status, text } of served)
        expect([status, text]).toEqual([200, expect.stringContaining(`canary-${of}-`)]);

      const parts = [{ type: "document", source: { type: "url", value: `/api/files/${id}` } }];
      const messages = [{ id: "a", role: "user", content: parts }];
      const input = [{ role: "user", content: [{ type: "input_file", file_id: id }] }];
      const mcp = `/mcp?app=${other}`;
      for (const [answer, status, code] of [
        [await get(`/api/files/${id}`, otherSession, "own key", other), 404, "file_not_found"],
        [await get(`/api/files/${id}`, session, "own key", other), 403, "app_forbidden"],
        [await get(ofFile(otherSession), otherSession, "own key", other), 404, "file_not_found"],
        [await get(ofFile(session), session, "own key", other), 403, "app_forbidden"],
        [await post(mcp, "own key", readMcp(uri(otherSession))), 200, "file_not_found"],
        [await post(mcp, "own key", readMcp(uri(session))), 200, "app_forbidden"],
        [await post(mcp, "key of both", readMcp(uri(session))), 200, "session_not_found"],
        [
          await post(`/api/ag-ui?app=${other}`, "own key", { threadId: otherSession, runId: "r", messages }),
          400,
          "attachment_not_found",
        ],
        [
          await post("/v1/responses", "own key", {
            model: other,
            conversation: `conv_${otherSession}`,
            input,
          }),
          400,
          "file_not_found",
        ],
      ] as const) {
        expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(`"${code}"`)]);
        expectNoTextsOf(of, answer.text);
      }
    }
  });

  it("does not give its file to a call of a client's tool in a session of the other App", async () => {
    const { file } = service.apps[of].conversation;
    for (const caller of ["own key", "key of both"] as const) {
      const headers = key(caller, other);
      const call = await claimCall(service.url, other, headers);
      expectRefused(await nameFile(service.url, call, headers, file), 400, of);
      const after = await send(service.url, "GET", "/api/state", { session: call.session, headers });
      expectNoTextsOf(of, after.text);
    }
  });

  it("keeps the secrets of a client that uses both Apps apart", async () => {
    const { conversation, slot } = service.apps[of];
    const path = (app: string) => `/api/secrets?client_id=${conversation.clientId}&app=${app}`;
    const names = await send(service.url, "GET", path(other), { headers: key("own key", other) });
    expect(names.json()).toEqual([service.apps[other].slot]);
    const both = { headers: key("key of both", of), json: { [slot]: "x" } };
    expectProblem(await send(service.url, "PUT", path(other), both), 400);
  });

  it("is missing in the other App's list of a shared wallet, on every page", async () => {
    const headers = key("own key", other);
    let path: string | undefined = `/api/sessions?public_key=${service.wallet}&limit=1`;
    let text = "";
    while (path !== undefined) {
      const answer = await send(service.url, "GET", path, { session: newSession(), headers });
      expect(answer.status).toBe(200);
      text += answer.text;
      const next = /^<([^>]+)>/.exec(String(answer.headers["link"]))?.[1];
      path = next && `/api/sessions${next}`;
    }
    expect(text).toContain(service.apps[other].conversation.session);
    expect(text).not.toContain(service.apps[of].conversation.session);
    expectNoTextsOf(of, text);
  });
});

describe("a session that is bound to its App while a request arrives", () => {
  /** Sends the headers. Returns a function that sends the body and reads the response. */
  async function begin(method: string, path: string, session: string) {
    const headers = { "X-Session-Id": session, "Transfer-Encoding": "chunked" };
    const outgoing = request(new URL(path, service.url), { method, headers });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve).once("error", reject);
    });
    outgoing.flushHeaders();
    // The response to this request shows that the service has read the headers.
    await send(service.url, "GET", "/api/state", { session: newSession() });
    return async (body: unknown) => {
      outgoing.end(JSON.stringify(body));
      const answer = await answered;
      const text = Buffer.concat(await answer.toArray()).toString("utf8");
      return { status: answer.statusCode, text: text + JSON.stringify(answer.headers) };
    };
  }

  it.each([
    ["POST", () => "/api/sessions", {}],
    ["POST", () => "/api/interrupt", {}],
    ["PATCH", (session: string) => `/api/sessions/${session}`, { title: "Mine now" }],
    ["DELETE", (session: string) => `/api/sessions/${session}`, {}],
  ] as const)(
    "rejects %s if the session is bound to the App before the request's body arrives",
    async (method, path, body) => {
      const session = newSession();
      const finish = await begin(method, path(session), session);
      const { canaries } = service.apps.closed;
      const call = { session, headers: { ...key("own key", "closed"), Prefer: "wait=20" } };
      const chatting = `/api/chat?app=closed&message=${canaries.conversation[0]}`;
      expect((await send(service.url, "POST", chatting, call)).status).toBe(200);
      const { status, text } = await finish(body);
      expectNoTextsOf("closed", text);
      expect(status).toBe(401);
      expect((await send(service.url, "GET", "/api/state", call)).text).toContain(canaries.conversation[0]);
    },
  );
});

describe("an event stream", () => {
  it("carries no events of another App's conversation", async () => {
    const bystander = newSession();
    await chat(service.url, bystander, "hello", { headers: { Prefer: "wait=20" } });
    const readers = [
      await EventReader.connect(service.url, service.apps.chatty.conversation.session, {
        include: "tools,messages,state",
      }),
      await EventReader.connect(service.url, bystander, { include: "tools,messages,state" }),
    ];
    const { session } = service.apps.closed.conversation;
    const call = { session, headers: { ...key("own key", "closed"), Prefer: "wait=20" } };
    const path = `/api/chat?app=closed&message=${service.apps.closed.canaries.conversation[0]}`;
    expect((await send(service.url, "POST", path, call)).status).toBe(200);
    // The bus keeps order: when the session's own events have arrived, any leaked event would have arrived
    // too.
    await send(service.url, "PATCH", `/api/sessions/${service.apps.chatty.conversation.session}`, {
      json: { title: "Here" },
    });
    await send(service.url, "PATCH", `/api/sessions/${bystander}`, { json: { title: "Here" } });
    for (const reader of readers) {
      await reader.find((event) => event.type === "title_changed" && event.new_title === "Here");
      expectNoTextsOf("closed", JSON.stringify(reader.events) + reader.other.join("\n"));
    }
  });
});
