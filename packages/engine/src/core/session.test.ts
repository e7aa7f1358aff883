import { describe, expect, it } from "vitest";
import { appOf, isEmptySession, newSession, type SessionRecord } from "./session.ts";

const NEW = newSession(1, "id", { incarnation: "abc", model: "a/b" }, 5);

describe("a new session", () => {
  it("has the placeholder title, is idle, and is empty", () => {
    expect(NEW).toMatchObject({ title: "New Chat", titleSource: "placeholder", status: "idle", head: 0 });
    expect(isEmptySession(NEW)).toBe(true);
    expect(appOf(NEW)).toBe("default");
  });

  it("is still empty when bound to a wallet", () => {
    const bound: SessionRecord = { ...NEW, publicKey: "0x1" };
    expect(isEmptySession(bound)).toBe(true);
  });

  it.each<[string, Partial<SessionRecord>]>([
    ["a message", { messageCount: 1 }],
    ["a model", { modelChosen: true }],
    ["a utility model", { utilityModel: "a/b" }],
    ["a title", { titleSource: "user", title: "New Chat" }],
  ])("is no longer empty with %s", (_what, fields) => {
    expect(isEmptySession({ ...NEW, ...fields })).toBe(false);
  });

  it("stays empty with a user state, which clients send with their first request", () => {
    const looked = { ...NEW, userState: { a: 1 }, head: 1 };
    expect(isEmptySession(looked)).toBe(true);
  });
});
