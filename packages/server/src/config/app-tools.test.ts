import { describe, expect, it } from "vitest";
import { useAppConfigs } from "./testing/app-configs.ts";

const { loadModule, app, problems } = useAppConfigs();

describe("tools", () => {
  it("accepts built-in tools in a list or an object", async () => {
    expect((await app({})).tools.builtIn).toEqual(["current_time", "calculator"]);
    expect((await app({ tools: [] })).tools.builtIn).toEqual([]);
    expect((await app({ tools: ["ask_user", "calculator", "calculator"] })).tools.builtIn.toSorted()).toEqual(
      ["ask_user", "calculator"],
    );
    expect((await app({ tools: { ask_user: true } })).tools).toMatchObject({
      builtIn: ["ask_user"],
      own: {},
    });
  });

  it("accepts custom AI SDK tools from a module without freezing them", async () => {
    const result = await loadModule(
      "colloquy.config.js",
      `const weather = { description: "w", inputSchema: { cache: null }, execute: () => 1, state: {} };
       export default { apps: { defi: {
         tools: { weather, calculator: true },
         approvals: { weather: (input) => input.city !== "Basel", calculator: "always" },
         effects: { weather: "read" },
       } } };`,
    );
    const tools = result.ok ? result.config.apps["defi"]!.tools : null;
    expect(tools).toMatchObject({ builtIn: ["calculator"], effects: { weather: "read" } });
    expect(tools?.approvals["calculator"]).toBe("always");
    expect(tools?.approvals["weather"]).toBeInstanceOf(Function);
    const { weather } = tools?.own ?? {};
    expect(weather).toMatchObject({ description: "w" });
    expect(Object.isFrozen(tools?.own)).toBe(true);
    for (const part of [weather, weather?.inputSchema]) expect(Object.isFrozen(part)).toBe(false);
    expect(result.ok && result.warnings).toEqual([]);
  });

  it("reports invalid and ignored settings", async () => {
    expect(await problems({ tools: "calculator" })).toEqual([
      "tools: must be a list or an object, not text.",
    ]);
    const rule =
      "must be true for a built-in tool, or a tool made with tool() of the AI SDK that has inputSchema and execute.";
    expect(
      await problems({ tools: { calculater: true, "a b": true, weather: {}, calculator: false } }),
    ).toEqual([
      'tools["a b"]: must be a tool\'s name: 1 to 64 letters, digits, _ and -.',
      `tools.weather: ${rule}`,
      `tools.calculator: ${rule}`,
      'tools.calculater: is not a built-in tool. Did you mean "calculator"?',
      'tools["a b"]: is not a built-in tool. Known here: current_time, calculator, ask_user.',
    ]);
    const result = await loadModule(
      "colloquy.config.js",
      `export default { apps: { defi: {
         tools: {
           a: { inputSchema: {}, execute() {}, needsApproval: true },
           b: { inputSchema: {}, execute() {}, toModelOutput() {}, onInputStart() {}, strict: true },
         },
         approvals: { a: true },
       } } };`,
    );
    expect(result.ok ? [] : result.problems.map(({ location }) => location)).toEqual([
      "apps.defi.approvals.a",
      "apps.defi.tools.a",
      "apps.defi.tools.b",
    ]);
    expect(result.warnings.slice(1)).toEqual([
      'colloquy.config.js, apps.defi.tools.b: has "onInputStart", which has no effect here.',
      'colloquy.config.js, apps.defi.tools.b: has "strict", which has no effect here.',
    ]);
  });

  it("rejects invalid approval settings", async () => {
    const approvers = { claim: "role", values: ["lead"] };
    const optional = { issuer: "https://login.test", audience: "x" };
    const users = { ...optional, required: true };
    const found = async (terms: object, more: object = { users }, tool = "calculator") =>
      await problems({
        tools: ["calculator", "ask_user"],
        approvals: { [tool]: { when: "always", ...terms } },
        ...more,
      });
    for (const expiresAfter of ["1m", "30d", "43200m", "720h"])
      expect(await found({ expiresAfter, approvers })).toEqual([]);
    for (const expiresAfter of ["0m", "59s", "31d", "43201m", "721h", "1.5h", "10", " 1h"])
      expect(await found({ expiresAfter })).toEqual([expect.stringContaining("from 1m to 30d")]);
    expect(await found({ expiresAfter: "1h", remindAfter: "60m" })).toEqual([
      'approvals.calculator.remindAfter: must be shorter than "expiresAfter".',
    ]);
    expect(await found({ owner: "may" })).toEqual([
      'approvals.calculator.owner: needs "approvers": without them, the user decides.',
    ]);
    expect(await found({ approvers }, {})).toEqual([
      'approvals.calculator.approvers: needs "users" in the App, whose tokens have the claim.',
    ]);
    expect(await found({ approvers }, { users }, "ask_user")).toEqual([
      "approvals.ask_user.approvers: only the user can answer requests of this tool. Remove it.",
    ]);
    expect(await found({ approvers: { claim: "role", values: [] } })).toHaveLength(1);
    expect(await found({ approvers, when: "never" })).toEqual([
      'approvals.calculator.approvers: never decide, because "when" is "never". Remove one of them.',
    ]);
    expect(await found({ approvers }, { users: optional })).toEqual([
      expect.stringMatching(/^approvals\.calculator\.owner: .* approve their own requests\.$/),
    ]);
    expect(await found({ approvers, owner: "may" }, { users: optional })).toEqual([]);
  });

  it("rejects unknown tool names in effects and approvals", async () => {
    const section = {
      tools: ["calculator"],
      mcp: { search: { url: "https://search.test/mcp" } },
      openapi: { pets: { document: "https://pets.test/openapi.json" } },
      effects: { calculator: "read", search_web: "read", pets_list: "idempotent", pet_list: "read" },
      approvals: { calculater: "always", wallet_balance: "never" },
    };
    expect(await problems(section)).toEqual([
      "effects.pet_list: no tool of this App has this name. Known here: calculator, search_…, pets_….",
      'approvals.calculater: no tool of this App has this name. Did you mean "calculator"?',
      "approvals.wallet_balance: no tool of this App has this name. Known here: calculator, search_…, pets_….",
    ]);
    expect(await problems({ approvals: { current_tim: "always" } })).toEqual([
      'approvals.current_tim: no tool of this App has this name. Did you mean "current_time"?',
    ]);
  });

  it("does not report an invalid tool or server as an unknown name too", async () => {
    const section = {
      tools: ["calculater"],
      mcp: { search: "https://search.test/mcp" },
      wallet: true,
      approvals: { calculater: "always", search_web: "always", wallet_balance: "always" },
    };
    const settings = (await problems(section)).map((problem) => problem.split(":")[0]);
    expect(new Set(settings)).toEqual(new Set(["mcp.search", "tools[0]", "wallet"]));
  });

  it("rejects unknown values of effects and approvals", async () => {
    expect(
      await problems({ effects: { calculator: "pure" }, approvals: { calculator: "sometimes" } }),
    ).toEqual([
      'effects.calculator: must be "read", "idempotent" or "unsafe", not "pure".',
      'approvals.calculator: must be "always", "never", or in a TypeScript or JavaScript file a function of the input.',
    ]);
  });
});
