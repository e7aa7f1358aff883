import { describe, expect, it } from "vitest";
import { expectProblem, newSession, newWallet, send, state } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

describe("POST /api/sessions", () => {
  it("creates the session and returns session_id and title", async () => {
    const session = newSession();
    const answer = await send(url(), "POST", "/api/sessions", { session });
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ session_id: session, title: "New Chat", app: "default" });
    expect((await send(url(), "GET", `/api/sessions/${session}`)).json()).toEqual(answer.json());
    expect(await state(url(), session)).toMatchObject({
      messages: [],
      system_events: [],
      title: "New Chat",
      is_processing: false,
      user_state: null,
      status: "idle",
    });
  });

  it("returns the same for an existing session", async () => {
    const session = newSession();
    const first = await send(url(), "POST", "/api/sessions", { session });
    const again = await send(url(), "POST", "/api/sessions", { session: session.toUpperCase() });
    expect(again.json()).toEqual(first.json());
  });

  it.each([
    ["no body", {}],
    ["an empty body", { body: "", headers: { "Content-Type": "application/json" } }],
    ["{}", { json: {} }],
    ["{} without a type", { body: "{}" }],
  ])("accepts %s", async (_name, call) => {
    expect((await send(url(), "POST", "/api/sessions", { session: newSession(), ...call })).status).toBe(200);
  });

  it("accepts an id of any version, and returns it in its original spelling", async () => {
    for (const version of ["0", "1", "7", "f"]) {
      const session = newSession()
        .replace(/^(.{14})./, `$1${version}`)
        .toUpperCase();
      const answer = await send(url(), "POST", "/api/sessions", { session });
      expect(answer.json()).toMatchObject({ session_id: session });
    }
  });

  it("binds the wallet once; a second wallet gives 409", async () => {
    const session = newSession();
    const wallet = newWallet();
    const bind = (public_key: string) =>
      send(url(), "POST", "/api/sessions", { session, json: { public_key } });
    expect((await send(url(), "POST", "/api/sessions", { session })).status).toBe(200);
    expect((await bind(wallet)).status).toBe(200);
    expect((await bind(wallet.toUpperCase().replace("0X", "0x"))).status).toBe(200);
    expectProblem(await bind(newWallet()), 409);
    const list = await send(url(), "GET", `/api/sessions?public_key=${wallet}`, { session });
    expect(list.json()).toMatchObject([{ session_id: session }]);
  });

  it.each(["with space", "x".repeat(129), 7, ["x"], {}])(
    "rejects the wallet %j with 400",
    async (public_key) => {
      const session = newSession();
      expectProblem(await send(url(), "POST", "/api/sessions", { session, json: { public_key } }), 400);
      expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
    },
  );

  it.each([[[]], ["text"], [7]])("rejects the body %j with 400", async (json) => {
    expectProblem(await send(url(), "POST", "/api/sessions", { session: newSession(), json }), 400);
  });
});
