import { expect, it } from "vitest";
import type { AppSettings } from "../core/app-settings.ts";
import { createApps } from "./app-catalog.ts";

const settings: AppSettings = {
  description: "not shown",
  models: ["demo/assistant", "local/other"],
  utilityModel: "local/other",
  compaction: "summary",
  instructions: "Be brief.",
  tools: {
    builtIn: ["calculator"],
    own: {},
    sources: [],
    wallet: null,
    effects: {},
    approvals: {},
  },
  onBusy: "reject",
  expiry: { emptyMs: 1, unboundMs: 2 },
  secrets: [],
  requireKey: "chat",
  users: null,
  wallets: "claimed",
};

it("returns an App with its settings, and exposes only its name, secrets, suggestions and a rule for messages while it works", () => {
  const suggestions = ["What is 12 * 7?", "Count to 50"];
  const secrets = [{ name: "KEY", description: "A key", required: true }];
  const apps = createApps({ default: settings, defi: { ...settings, secrets } });
  expect(apps.get("defi")?.descriptor).toEqual({
    name: "defi",
    secrets,
    suggestions,
    on_busy: "reject",
  });
  expect(apps.get("default")).toEqual({
    name: "default",
    ...settings,
    descriptor: { name: "default", suggestions, on_busy: "reject" },
  });
  expect(apps.get("default")).toBe(apps.get("default"));
  expect(Object.isFrozen(apps.get("default"))).toBe(true);
});

it("lists the default App first, and the others in their configured order", () => {
  const apps = createApps({ second: settings, default: settings, first: settings });
  expect(apps.names()).toEqual(["default", "second", "first"]);
});

it("returns null for an unknown name and for names of the prototype", () => {
  const apps = createApps({ default: settings });
  expect(apps.get("other")).toBeNull();
  expect(apps.get("constructor")).toBeNull();
  expect(apps.get("__proto__")).toBeNull();
});

it("throws without the default App, and for an App without models", () => {
  expect(() => createApps({})).toThrow('The App "default" must be configured');
  expect(() => createApps({ default: { ...settings, models: [] } })).toThrow("at least one model");
});
