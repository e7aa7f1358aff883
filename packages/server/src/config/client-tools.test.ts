// Tools that run in the client, in the settings of an App.

import { describe, expect, it } from "vitest";
import { useAppConfigs } from "./testing/app-configs.ts";

const { app, loadModule, problems } = useAppConfigs();
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };
const LOOK = { description: "Looks", inputSchema: SCHEMA };

describe("clientTools", () => {
  it("accepts tools in a JSON file", async () => {
    const peek = { ...LOOK, timeoutMs: 120_000, repeatable: true };
    const { tools } = await app({ clientTools: { look: LOOK, peek } });
    expect(tools.client).toEqual({ look: LOOK, peek });
  });

  it("accepts tools in a module", async () => {
    const result = await loadModule(
      "colloquy.config.js",
      `export default { apps: { defi: { clientTools: { look: ${JSON.stringify(LOOK)} } } } };`,
    );
    expect(result.ok && result.config.apps["defi"]?.tools.client).toEqual({ look: LOOK });
  });

  it("are none by default", async () => {
    expect((await app({})).tools).not.toHaveProperty("client");
    expect((await app({ clientTools: {} })).tools).not.toHaveProperty("client");
  });

  it.each([
    ["a built-in tool", {}, "calculator"],
    ["a built-in tool in a list", { tools: ["ask_user"] }, "ask_user"],
    ["a wallet tool", {}, "wallet_balance"],
    ["a tool of the demo model", {}, "continue_counting"],
    ["an MCP server's tools", { mcp: { web: { url: "https://web.test/mcp" } } }, "web_search"],
    [
      "an OpenAPI service's tools",
      { openapi: { pets: { document: "https://pets.test/a.json" } } },
      "pets_list",
    ],
  ])("rejects the name of %s", async (_whose, section, name) => {
    expect(await problems({ ...section, clientTools: { [name]: LOOK, look: LOOK } })).toEqual([
      `clientTools.${name}: is or may be the name of a tool of the server. Choose another one.`,
    ]);
  });

  it("rejects the name of a tool of the file", async () => {
    const result = await loadModule(
      "colloquy.config.js",
      `export default { apps: { defi: {
         tools: { look: { inputSchema: { cache: null }, execute() {} } },
         clientTools: { look: ${JSON.stringify(LOOK)} },
       } } };`,
    );
    expect(result.ok ? [] : result.problems.map(({ location }) => location)).toEqual([
      "apps.defi.clientTools.look",
    ]);
  });

  it("accepts names of built-in tools that the App does not have", async () => {
    const { tools } = await app({ tools: [], clientTools: { calculator: LOOK } });
    expect(Object.keys(tools.client ?? {})).toEqual(["calculator"]);
  });

  it.each([
    ["another type", { type: "string" }],
    ["no type", { properties: {} }],
    ["a reference elsewhere", { type: "object", $ref: "https://elsewhere.test/schema.json" }],
    ["an unknown type inside", { type: "object", properties: { a: { type: "text" } } }],
  ])("rejects an input schema with %s", async (_what, inputSchema) => {
    expect(await problems({ clientTools: { look: { ...LOOK, inputSchema } } })).toEqual([
      'clientTools.look.inputSchema: must be a JSON Schema (draft 7) with the type "object".',
    ]);
  });

  it("reports each invalid field with its location", async () => {
    const look = { description: "", inputSchema: [], timeoutMs: 999, repeatable: "no", execute: "rm" };
    const found = await problems({ clientTools: { look, "a b": LOOK }, allowClientTools: "yes" });
    const locations = [
      "allowClientTools",
      'clientTools["a b"]',
      "clientTools.look.description",
      "clientTools.look.execute",
      "clientTools.look.inputSchema",
      "clientTools.look.repeatable",
      "clientTools.look.timeoutMs",
    ];
    expect(new Set(found.map((problem) => problem.split(":")[0]))).toEqual(new Set(locations));
  });

  it("are rejected in the rules for approvals and effects", async () => {
    const section = {
      clientTools: { look: LOOK },
      approvals: { look: "always" },
      effects: { look: "read" },
    };
    expect(await problems(section)).toEqual([
      "approvals.look: runs in the client, which can ask its user. Remove the rule.",
      'effects.look: runs in the client. Use "repeatable" of the tool instead.',
    ]);
  });
});

describe("allowClientTools", () => {
  it("is off unless set", async () => {
    expect((await app({})).tools.allowsClientTools).toBeUndefined();
    expect((await app({ allowClientTools: false })).tools.allowsClientTools).toBeUndefined();
    expect((await app({ allowClientTools: true })).tools.allowsClientTools).toBe(true);
  });
});
