import { describe, expect, it } from "vitest";
import { DecidedSession } from "./testing/decided-session.ts";

const NOTHING = { userState: null, publicKey: null };

describe("opening a session", () => {
  it("changes nothing without new input", () => {
    const one = new DecidedSession();
    const before = one.session;
    expect(one.run("open", NOTHING)).toBe("ok");
    expect(one.session).toBe(before);
  });

  it("merges user state and announces it once", () => {
    const one = new DecidedSession();
    const open = () => one.run("open", { ...NOTHING, userState: { a: { b: 1 } } });
    expect(open()).toBe("ok");
    expect(one.types).toEqual(["state_changed"]);
    expect(one.session.userState).toEqual({ a: { b: 1 } });
    const before = one.session;
    open();
    expect(one.session).toBe(before);
  });

  it("rejects user state that is too large, and another wallet than the bound one", () => {
    const one = new DecidedSession();
    const userState = { a: "x".repeat(9_000) };
    expect(one.run("open", { ...NOTHING, userState })).toBe("user_state_too_large");
    one.run("open", { ...NOTHING, publicKey: "0xa" });
    expect(one.session).toMatchObject({ publicKey: "0xa", updatedAt: one.at });
    expect(one.run("open", { ...NOTHING, publicKey: "0xa" })).toBe("ok");
    expect(one.run("open", { ...NOTHING, publicKey: "0xb" })).toBe("wallet_mismatch");
    expect(one.session.publicKey).toBe("0xa");
  });
});

describe("a title", () => {
  it("replaces the placeholder if it is generated, and no other title", () => {
    const one = new DecidedSession();
    one.finishTitle("Generated");
    expect(one.session).toMatchObject({ title: "Generated", titleSource: "generated" });
    expect(one.last.events[0]?.event).toEqual({ type: "title_changed", new_title: "Generated" });
    one.finishTitle("Again");
    expect(one.session.title).toBe("Generated");
    expect(one.last.events).toEqual([]);
  });

  it("keeps the user's text when another one is generated before or after, even if it equals the placeholder", () => {
    for (const title of ["Mine", "New Chat"]) {
      const before = new DecidedSession();
      before.run("edit", { title });
      before.finishTitle("Generated");
      expect(before.session).toMatchObject({ title, titleSource: "user" });
      const after = new DecidedSession();
      after.finishTitle("Generated");
      after.run("edit", { title });
      expect(after.session).toMatchObject({ title, titleSource: "user" });
      expect(after.types).toEqual(["title_changed"]);
    }
  });
});

describe("selecting a model", () => {
  const choice = { app: "default", rig: "other/model", utilityModel: null };

  it("stores it with its App, binds nothing, announces it, and keeps the selected utility model", () => {
    const one = new DecidedSession();
    expect(one.run("setModel", { ...choice, utilityModel: "u/m" })).toBe("ok");
    expect(one.session).toMatchObject({
      app: null,
      modelApp: "default",
      model: "other/model",
      modelChosen: true,
      utilityModel: "u/m",
    });
    expect(one.types).toEqual(["state_changed"]);
    one.run("setModel", choice);
    expect(one.session.utilityModel).toBe("u/m");
    expect(one.types).toEqual([]);
  });

  it("replaces a selection for another App, including its utility model, while the session has no App", () => {
    const one = new DecidedSession();
    one.run("setModel", { ...choice, utilityModel: "u/m" });
    expect(one.run("setModel", { ...choice, app: "defi" })).toBe("ok");
    expect(one.session).toMatchObject({ app: null, modelApp: "defi", utilityModel: null });
  });

  it("is rejected in a session of another App", () => {
    const one = new DecidedSession();
    one.change((draft) => draft.update({ app: "default" }));
    expect(one.run("setModel", { ...choice, app: "defi" })).toBe("app_mismatch");
    expect(one.session.app).toBe("default");
  });
});
