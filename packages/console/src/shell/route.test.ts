import { describe, expect, it } from "vitest";
import { hashOf, parseRoute, type Route } from "./route.ts";

describe("routes of the console", () => {
  it.each<[string, Route]>([
    ["", { page: "chat", sessionId: null }],
    ["#", { page: "chat", sessionId: null }],
    ["#/", { page: "chat", sessionId: null }],
    ["#/chat", { page: "chat", sessionId: null }],
    ["#/chat/", { page: "chat", sessionId: null }],
    ["#/chat/6f2a9d1e", { page: "chat", sessionId: "6f2a9d1e" }],
    ["#/chat/a%2Fb", { page: "chat", sessionId: "a/b" }],
    ["#/chat/100%", { page: "chat", sessionId: "100%" }],
    ["#/operate", { page: "operate", view: "overview" }],
    ["#/operate/keys", { page: "operate", view: "keys" }],
    ["#/operate/sessions/a%2Fb/", { page: "operate", view: "sessions/a/b" }],
    ["#/approvals", { page: "approvals" }],
    ["#/elsewhere/x", { page: "chat", sessionId: null }],
  ])("%s is parsed", (hash, route) => {
    expect(parseRoute(hash)).toEqual(route);
  });

  it.each<Route>([
    { page: "chat", sessionId: null },
    { page: "chat", sessionId: "a/b?c#d e%" },
    { page: "approvals" },
    { page: "operate", view: "sessions/6f2a9d1e" },
  ])("survive formatting and parsing: %j", (route) => {
    expect(parseRoute(hashOf(route))).toEqual(route);
  });
});
