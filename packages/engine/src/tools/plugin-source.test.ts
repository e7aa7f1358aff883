import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import { schemaChecks } from "../../../server/test/schema-checks.ts";
import type { AppSettings, SourceSettings } from "../core/app-settings.ts";
import { Hidden } from "../core/hidden.ts";
import {
  defineTool,
  defineToolSource,
  type PluginSource,
  type PluginTool,
  type SourceContext,
  ToolsUnavailable,
} from "../core/plugins/tool-source.ts";
import { SecretMissing } from "../core/ports/driven/tool.ts";
import { pluginToolSource } from "./plugin-source.ts";
import { recordingLogger } from "./testing/recording-logger.ts";
import { sourceSettings } from "./testing/source-settings.ts";
import { toolTurn } from "./testing/tool-turn.ts";
import { AppTools } from "./toolset.ts";

type Approvals = AppSettings["tools"]["approvals"];
type Create = (settings: unknown, context: SourceContext) => PluginSource | Promise<PluginSource>;

const signal = new AbortController().signal;
const forecast: PluginTool = {
  name: "forecast",
  description: "Tells the weather",
  inputSchema: z.object({ city: z.string().min(2) }),
  effect: "read",
  execute: ({ city }: { readonly city: string }) => `Sunny in ${city}`,
};
const typed = defineTool({
  name: "typed",
  description: "",
  inputSchema: z.object({ days: z.string().transform(Number) }),
  execute: ({ days }) => days.toFixed(1),
});

/** Creates an App whose only tools come from the plugin `weather`. */
function appWith(
  create: Create,
  {
    secrets = {},
    approvals = {},
  }: { secrets?: Readonly<Record<string, string>>; approvals?: Approvals } = {},
) {
  const clock = new ManualClock();
  const logger = recordingLogger();
  const plugin = defineToolSource({ name: "weather", version: "1.0.0", settings: z.unknown(), create });
  const guardedFetch = (): Promise<never> => Promise.reject(new Error("Not used."));
  const settingsOf = (section: unknown, more: Partial<SourceSettings> = {}) => ({
    default: {
      tools: {
        builtIn: [],
        own: {},
        sources: [
          {
            ...sourceSettings(plugin, "weather", section),
            secrets: new Hidden(Object.entries(secrets)),
            ...more,
          },
        ],
        wallet: null,
        effects: {},
        approvals,
      },
      secrets: [],
    },
  });
  const toolset = new AppTools(settingsOf({}), {
    clock,
    logger,
    vault: null,
    plan: (app, { tools }) =>
      tools.sources.map((source) =>
        pluginToolSource(source, { app, clock, logger, guardedFetch, schemas: schemaChecks.of(app) }),
      ),
  });
  const open = () => toolset.open(toolTurn(), signal);
  const names = async () => (await open()).definitions.map(({ name }) => name);
  const call = async (name: string, input: unknown) =>
    (await open()).call(name, input, { callId: "call-1", timeoutMs: 1_000, signal, clock });
  return { clock, logger, toolset, open, names, call };
}

describe("the tools of a plugin", () => {
  it("have the plugin name as a prefix and run like custom tools", async () => {
    const app = appWith(() => ({ tools: () => [forecast] }));
    expect((await app.open()).definitions).toMatchObject([
      {
        name: "weather_forecast",
        description: "Tells the weather",
        effect: "read",
        inputSchema: { type: "object" },
      },
    ]);
    expect(await app.call("weather_forecast", { city: "Oslo" })).toEqual({
      output: "Sunny in Oslo",
      isError: false,
    });
    expect(await app.call("weather_forecast", { city: "O" })).toMatchObject({
      output: expect.stringContaining("The input does not fit the tool weather_forecast"),
      isError: true,
    });
  });

  it("validate JSON Schema in the schema thread and report progress", async () => {
    const inputSchema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
    const count: PluginTool = {
      name: "count",
      description: "",
      inputSchema,
      async *execute({ n }: { readonly n: number }) {
        yield n;
        yield n + 1;
      },
    };
    const app = appWith(() => ({ tools: () => [count] }));
    expect(await app.call("weather_count", { n: 1 })).toEqual({ output: 2, isError: false });
    expect(await app.call("weather_count", {})).toMatchObject({ isError: true });
    expect((await app.open()).definitions[0]).toMatchObject({ inputSchema, effect: "unsafe" });
  });

  it("yield the same list until they change", async () => {
    let tools = [forecast];
    const app = appWith(() => ({ tools: () => [...tools] }));
    const { definitions } = await app.open();
    expect((await app.open()).definitions).toBe(definitions);
    tools = [forecast, { ...forecast, name: "history" }];
    expect(await app.names()).toEqual(["weather_forecast", "weather_history"]);
  });

  it("are omitted individually if their schema is invalid", async () => {
    const app = appWith(() => ({
      tools: () => [{ ...forecast, name: "bad", inputSchema: z.date() }, forecast],
    }));
    expect(await app.names()).toEqual(["weather_forecast"]);
    expect(app.logger.lines.map(({ message }) => message)).toEqual(["a tool of a source is omitted"]);
  });

  it("have the keys of placeholders removed from their results", async () => {
    const leak = { ...forecast, execute: () => "key supersecret1 and k-12345678, units metric" };
    const app = appWith(() => ({ tools: () => [leak] }), {
      secrets: { WEATHER_KEY: "supersecret1", REGION: "k-12345678", UNITS: "metric" },
    });
    expect(await app.call("weather_forecast", { city: "Oslo" })).toMatchObject({
      output: "key [secret] and [secret], units metric",
    });
  });

  it("have the input type of their schema if they are made with defineTool", async () => {
    const app = appWith(() => ({ tools: () => [typed] }));
    expect((await app.call("weather_typed", { days: "2" })).output).toBe("2.0");
  });

  it("ask for approval by default if their author says so, unless the App has a rule", async () => {
    const tools = () => [{ ...forecast, approval: "always" } as const, typed];
    const kinds = async (approvals: Approvals) => {
      const turn = await appWith(() => ({ tools }), { approvals }).open();
      const decisions = [
        turn.decide("weather_forecast", { city: "Oslo" }),
        turn.decide("weather_typed", { days: "1" }),
      ];
      return (await Promise.all(decisions)).map(({ kind }) => kind);
    };
    expect(await kinds({})).toEqual(["ask", "allow"]);
    expect(await kinds({ weather_forecast: "never", weather_typed: "always" })).toEqual(["allow", "ask"]);
  });

  it("are omitted if they ask the user, but the App gives the decision to approvers", async () => {
    const asking = { ...forecast, name: "asking", ask: () => ({ kind: "question", question: "Where?" }) };
    const approvers = { claim: "role", values: ["lead"] };
    const app = appWith(() => ({ tools: () => [asking as never, forecast] }), {
      approvals: {
        weather_asking: { when: "always", approvers },
        weather_forecast: { when: "always", approvers },
      },
    });
    expect(await app.names()).toEqual(["weather_forecast"]);
    expect(app.logger.lines[0]?.fields).toMatchObject({
      tool: "weather_asking",
      reason: 'only the user can answer its requests: remove its "approvers"',
    });
  });

  it("have their failures logged without arguments and keys, and keys removed from the message", async () => {
    const broken = defineTool({
      ...forecast,
      inputSchema: z.object({ city: z.string() }),
      execute: async () => {
        throw new Error("The key k-12345678 has expired.");
      },
    });
    const app = appWith(() => ({ tools: () => [broken] }), { secrets: { KEY: "k-12345678" } });
    await app.call("weather_forecast", { city: "Oslo" });
    expect(app.logger.lines).toEqual([
      {
        level: "warn",
        message: "a tool call failed",
        fields: {
          app: "default",
          tool: "weather_forecast",
          callId: "call-1",
          failure: "The key [secret] has expired.",
        },
      },
    ]);
  });

  it("use the configured effect", async () => {
    const app = appWith(() => ({
      tools: () => [{ ...forecast, execute: (_input, context) => context.effect }],
    }));
    expect(await app.call("weather_forecast", { city: "Oslo" })).toMatchObject({ output: "read" });
  });
});

describe("a source that fails", () => {
  const cases: readonly (readonly [string, Create, string])[] = [
    [
      "during creation",
      () => Promise.reject(new Error("no k-12345678")),
      "Their source has failed: no [secret].",
    ],
    [
      "during listing",
      () => ({
        tools: () => {
          throw new Error("It broke.");
        },
      }),
      "Their source has failed: It broke.",
    ],
    [
      "with ToolsUnavailable",
      () => ({ tools: () => Promise.reject(new ToolsUnavailable("It is night.")) }),
      "It is night.",
    ],
  ];
  it.each(cases)(
    "%s is replaced by a placeholder tool and reported to operators",
    async (_case, create, reason) => {
      const app = appWith(create, { secrets: { KEY: "k-12345678" } });
      expect(await app.names()).toEqual(["weather_unavailable"]);
      expect(app.toolset.sources("default")).toMatchObject([
        { name: "weather weather", state: "failing", problem: reason },
      ]);
      expect(await app.call("weather_unavailable", {})).toMatchObject({
        output: `${reason} Nothing was called.`,
        isError: true,
      });
      expect(JSON.stringify(app.logger.lines)).not.toContain("k-12345678");
    },
  );

  it("has each change of its state logged once, with the App and the source, like its own lines", async () => {
    let problem: Error | null = new Error("no k-12345678");
    const create = (_settings: unknown, { logger }: SourceContext) => ({
      tools() {
        logger.debug({ attempt: 1 }, "listing");
        if (problem !== null) throw problem;
        return [forecast];
      },
    });
    const app = appWith(create, { secrets: { KEY: "k-12345678" } });
    for (const next of [problem, new Error("Other."), new ToolsUnavailable("Down."), null, null]) {
      problem = next;
      await app.names();
    }
    const source = { app: "default", source: "weather weather" };
    const lines = app.logger.lines.filter(({ level }) => level !== "debug");
    expect(lines).toEqual([
      {
        level: "warn",
        message: "a tool source fails: its tools are unavailable",
        fields: { ...source, reason: "Their source has failed: no [secret]." },
      },
      { level: "info", message: "a tool source works again", fields: { ...source, tools: 1 } },
    ]);
    expect(app.logger.lines[0]).toEqual({
      level: "debug",
      message: "listing",
      fields: { ...source, attempt: 1 },
    });
  });

  it("hides the reason from users also if a call was approved before", async () => {
    const app = appWith(() => Promise.reject(new Error("EACCES: scandir '/srv/secret'")));
    const denied = await (await app.open()).decide("weather_forecast", { city: "Oslo" });
    const called = await app.call("weather_forecast", { city: "Oslo" });
    for (const outcome of [denied, called]) {
      expect(outcome).toMatchObject({
        output: expect.stringContaining("/srv/secret"),
        shown: "The tool weather_forecast failed.",
      });
    }
  });

  it("may throw ToolsUnavailable of another copy of the engine", async () => {
    const other = Object.assign(new Error("It is night."), { name: "ToolsUnavailable" });
    const app = appWith(() => ({ tools: () => Promise.reject(other) }));
    await app.names();
    expect(app.toolset.sources("default")).toMatchObject([{ problem: "It is night." }]);
  });

  it("is recreated for the next turn", async () => {
    let attempts = 0;
    const app = appWith(() => {
      attempts += 1;
      if (attempts === 1) throw new Error("Not yet.");
      return { tools: () => [forecast] };
    });
    expect(await app.names()).toEqual(["weather_unavailable"]);
    expect(await app.names()).toEqual(["weather_forecast"]);
  });

  it("reports the secret that the user has not set", async () => {
    const app = appWith(() => ({ tools: () => Promise.reject(new SecretMissing("TOKEN")) }));
    expect(await app.call("weather_unavailable", {})).toMatchObject({
      isError: true,
      missingSecret: "TOKEN",
    });
    expect(app.toolset.sources("default")).toMatchObject([{ state: "unused" }]);
  });

  it("delays only one turn, by at most five seconds", async () => {
    const listing = Promise.withResolvers<readonly PluginTool[]>();
    const app = appWith(() => ({ tools: () => listing.promise }));
    const first = app.names();
    await app.clock.advance(5_000);
    expect(await first).toEqual(["weather_unavailable"]);
    expect(await app.names()).toEqual(["weather_unavailable"]);
    listing.resolve([forecast]);
    await listing.promise;
    await new Promise(setImmediate);
    expect(await app.names()).toEqual(["weather_forecast"]);
    expect(app.clock.timers).toBe(0);
  });
});
