// Plugins in configuration files, and their sections.

import { cp, mkdir, realpath, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inspect } from "node:util";
import { beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { defineToolSource } from "@colloquy/engine";
import { z } from "zod";
import { defineProtocol } from "../http/protocol.ts";
import { defineConfig } from "./define-config.ts";
import { useConfigDirectory } from "./testing/config-directory.ts";

const { write, load, loaded, problems, inside } = useConfigDirectory();
const MODULES = join(import.meta.dirname, "../../../../node_modules");

beforeEach(async () => {
  await mkdir(inside("node_modules"));
  for (const name of ["@colloquy", "zod"])
    await symlink(join(MODULES, name), join(inside("node_modules"), name));
});

/** Writes a package with only an `import` export condition. */
async function install(name: string, code: string): Promise<void> {
  const folder = join("node_modules", name);
  await mkdir(inside(folder), { recursive: true });
  const manifest = { name, type: "module", exports: { ".": { import: "./index.js" } } };
  await write(join(folder, "package.json"), manifest);
  await write(join(folder, "index.js"), code);
}

const weatherOf = (metadata: string): string => `
  import { defineToolSource } from "@colloquy/engine";
  import { z } from "zod";
  export default defineToolSource({
    ${metadata},
    settings: z.strictObject({
      apiKey: z.string().min(8).describe("Key."),
      units: z.enum(["metric", "imperial"]).default("metric").describe("Units."),
    }),
    create: () => ({ tools: () => [] }),
  });`;
const WEATHER = weatherOf('name: "weather", version: "1.2.3"');
const configuration = (weather: unknown, more: object = {}) => ({
  plugins: ["acme-weather"],
  apps: { default: { weather, ...more } },
});

describe("plugins of a JSON file", () => {
  it("are packages resolved from its directory", async () => {
    await install("acme-weather", WEATHER);
    await write("colloquy.config.json", configuration({ apiKey: "k-123456" }));
    const { apps, plugins } = await loaded();
    expect(plugins.map(({ name }) => name).slice(-2)).toEqual(["mcp-server", "weather"]);
    const [source] = apps["default"]!.tools.sources;
    expect(source).toMatchObject({ name: "weather", label: "weather", setting: "weather" });
    expect(source?.settings.reveal()).toEqual({ apiKey: "k-123456", units: "metric" });
  });

  it("may be files and arrays of plugins", async () => {
    await mkdir(dirname(inside("plugins/weather.js")));
    await write("package.json", { type: "module" });
    await write(
      "plugins/weather.js",
      WEATHER.replace("default defineToolSource(", "default [defineToolSource(").replace(/\);$/, ")];"),
    );
    await write("colloquy.config.json", {
      ...configuration({ apiKey: "k-123456" }),
      plugins: ["./plugins/weather.js"],
    });
    expect((await loaded()).plugins.at(-1)?.name).toBe("weather");
  });

  it("are rejected with advice for their author if they are packages of TypeScript files", async () => {
    await install("acme-weather", "");
    const manifest = { name: "acme-weather", type: "module", exports: "./index.ts" };
    await write("node_modules/acme-weather/package.json", manifest);
    await write("node_modules/acme-weather/index.ts", "export default {};");
    await write("colloquy.config.json", { plugins: ["acme-weather"] });
    expect(await problems()).toEqual([
      'plugins[0]: The plugin "acme-weather" is a package of TypeScript files, which Node does not run. Its author must publish JavaScript.',
    ]);
  });

  it.each([
    [
      "no such package",
      null,
      'There is no package "acme-weather" in DIR or above. Install it there: npm install acme-weather.',
    ],
    [
      "a package that imports a missing one",
      'import "missing-package";',
      /^The plugin "acme-weather" cannot be loaded: .*missing-package/,
    ],
    [
      "a package without a plugin",
      "export default { name: 'weather' };",
      'the default export of "acme-weather" is not a plugin. Make it with defineToolSource or another define… function.',
    ],
    [
      "a package without a default export",
      "export const weather = 1;",
      /^the default export of "acme-weather" is not a plugin/,
    ],
    [
      "a name of another plugin",
      weatherOf('name: "mcp", version: "1.0.0"'),
      '"mcp" is the name of two plugins. Remove one.',
    ],
    [
      "a name of an App's setting",
      weatherOf('name: "models", version: "1.0.0"'),
      'The plugin "models" has the name of a setting of Apps. Its author must choose another one.',
    ],
    [
      "a newer engine",
      weatherOf('name: "weather", version: "1.0.0", needs: { colloquy: "7.1.0" }'),
      /^The plugin "weather" needs Colloquy 7\.1\.0 or later, and this is 0\.\d+\.\d+\. Update Colloquy\.$/,
    ],
    [
      "a kind of a newer engine",
      'export default { kind: "colloquy/dream", name: "a", version: "1.0.0" };',
      /^The plugin "a" has a kind that Colloquy .* does not support\. Update Colloquy\.$/,
    ],
    [
      "wrong metadata",
      'export default { kind: "colloquy/tool-source", name: "a b", version: "1.0.0" };',
      /^The name of the plugin "a b" must have 1 to 32 letters/,
    ],
    [
      "no function",
      'export default { kind: "colloquy/tool-source", name: "a", version: "1.0.0", settings: {} };',
      'The plugin "a" is incomplete. Make it with a define… function.',
    ],
    [
      "settings of another library",
      'export default { kind: "colloquy/tool-source", name: "a", version: "1.0.0", settings: { safeParse() {} }, create() {} };',
      'The settings of the plugin "a" are not a schema of zod 4. Its author must install zod 4.',
    ],
    [
      "a missing required plugin",
      weatherOf('name: "weather", version: "1.0.0", needs: { plugins: ["maps"] }'),
      'The plugin "weather" needs the plugin "maps", which is not listed. Add it.',
    ],
  ])("are rejected for %s", async (_case, code, message) => {
    if (code !== null) await install("acme-weather", code);
    await write("colloquy.config.json", { plugins: ["acme-weather"] });
    const [problem = "", ...others] = (await problems()).map((text) => text.replace(/^plugins\[0\]: /, ""));
    if (typeof message === "string") expect(problem).toBe(message.replace("DIR", inside(".")));
    else expect(problem).toMatch(message);
    expect(others).toEqual([]);
  });

  it("may use another copy of zod", async () => {
    await cp(await realpath(join(MODULES, "zod")), inside("node_modules/acme-weather/node_modules/zod"), {
      recursive: true,
    });
    await install("acme-weather", WEATHER);
    await write("colloquy.config.json", configuration({ apiKey: "k-123456", unit: "metric" }));
    expect(await problems()).toEqual([
      'apps.default.weather.unit: is not a known setting. Did you mean "units"?',
    ]);
  });

  it("must be an array", async () => {
    await write("colloquy.config.json", { plugins: "acme-weather" });
    expect(await problems()).toEqual(["plugins: must be a list, not text."]);
  });
});

describe("the section of a plugin", () => {
  beforeEach(() => install("acme-weather", WEATHER));

  it("is validated by the plugin's schema, with suggestions for unknown settings", async () => {
    const section = { apiKey: "k-123456", unit: "metric" };
    await write("colloquy.config.json", {
      ...configuration(section),
      apps: { default: { weather: section, wether: {} } },
    });
    expect(await problems()).toEqual([
      'apps.default.weather.unit: is not a known setting. Did you mean "units"?',
      'apps.default.wether: is not a known setting. Did you mean "weather"?',
    ]);
    await write("colloquy.config.json", { ...configuration(section), plugins: [] });
    expect(await problems()).toEqual([
      expect.stringMatching(/^apps\.default\.weather: is not a known setting\./),
    ]);
  });

  it("has placeholders filled in before validation, and hides their values", async () => {
    await write(
      "colloquy.config.json",
      configuration({ apiKey: "{{env.WEATHER_KEY}}", units: "{{env.UNITS}}" }),
    );
    const config = await loaded({ WEATHER_KEY: "k-123456", UNITS: "imperial" });
    const [source] = config.apps["default"]!.tools.sources;
    expect(source?.settings.reveal()).toEqual({ apiKey: "k-123456", units: "imperial" });
    expect(source?.secrets.reveal()).toEqual([
      ["apiKey {{env.WEATHER_KEY}}", "k-123456"],
      ["units {{env.UNITS}}", "imperial"],
    ]);
    expect(inspect(config, { depth: null, showHidden: true })).not.toContain("k-123456");
    expect(JSON.stringify(config)).not.toContain("k-123456");
    expect(await problems({ WEATHER_KEY: "short", UNITS: "sk-secret" })).toEqual([
      "apps.default.weather.apiKey: after filling in the placeholders, must have at least 8 characters.",
      "apps.default.weather.units: after filling in the placeholders, it has a value that is not allowed.",
    ]);
    expect(await problems({ WEATHER_KEY: "k-123456" })).toEqual([
      "apps.default.weather.units: {{env.UNITS}}: the environment variable UNITS is not set.",
    ]);
    expect(await problems({ UNITS: "metric" })).toEqual([
      "apps.default.weather.apiKey: {{env.WEATHER_KEY}}: the environment variable WEATHER_KEY is not set.",
    ]);
  });

  it("allows its tool names in effects and approvals", async () => {
    const approvals = { weather_forecast: "always", wether_forecast: "always" };
    await write("colloquy.config.json", configuration({ apiKey: "k-123456" }, { approvals }));
    expect(await problems()).toEqual([
      expect.stringMatching(
        /^apps\.default\.approvals\.wether_forecast: no tool of this App has this name\./,
      ),
    ]);
  });

  it("is included in the JSON Schema", async () => {
    await write("colloquy.config.json", configuration({}));
    const { jsonSchemaOf } = await import("./json-schema.ts");
    const { plugins } = await load();
    expect(jsonSchemaOf(plugins)).toHaveProperty(
      ["properties", "apps", "additionalProperties", "properties", "weather", "properties", "units", "enum"],
      ["metric", "imperial"],
    );
  });
});

it("reports findings of a plugin's check with their location", async () => {
  await write("package.json", { type: "module" });
  await write(
    "colloquy.config.mjs",
    `import { defineToolSource } from "@colloquy/engine";
    import { z } from "zod";
    const settings = z.object({ file: z.string() });
    const check = ({ file }, findings) => {
      if (file === "throws") throw new Error("It broke");
      findings.file(findings.directory + "/" + file);
      findings.problem(["file"], "is too old.");
    };
    const notes = defineToolSource({ name: "notes", version: "1.0.0", settings, entries: true, check, create: () => ({ tools: () => [] }) });
    export default { plugins: [notes], apps: { default: { notes: { a: { file: "a.txt" }, b: { file: "throws" } } } } };`,
  );
  const result = await load();
  expect(result.ok ? [] : result.problems.map(({ location, message }) => `${location}: ${message}`)).toEqual([
    "apps.default.notes.a.file: is too old.",
    "apps.default.notes.b: cannot be checked: It broke",
  ]);
  expect([...result.files.keys()]).toContain(inside("a.txt"));
});

describe("a provider of a plugin", () => {
  beforeEach(() =>
    install(
      "acme",
      `import { defineModelProvider } from "@colloquy/engine";
      import { z } from "zod";
      const settings = z.strictObject({ region: z.enum(["eu", "us"]), token: z.string().optional() });
      export default defineModelProvider({ name: "acme", version: "1.0.0", settings, create: () => ({}) });`,
    ),
  );
  const writeProviders = (providers: object, models = ["mine/large"]) =>
    write("colloquy.config.json", { plugins: ["acme"], providers, apps: { default: { models } } });

  it("accepts the plugin's settings beside the common ones", async () => {
    const mine = {
      kind: "acme",
      region: "eu",
      token: "{{env.TOKEN}}",
      apiKeyEnv: "KEY",
      contextWindow: 9000,
    };
    await writeProviders({ mine, acme: { region: "us" } }, ["mine/large", "acme/small"]);
    const { providers, secrets } = await loaded({ TOKEN: "t-1", KEY: "k-1" });
    expect(providers["mine"]).toMatchObject({ kind: "plugin", contextWindow: 9000 });
    expect(providers["mine"]?.plugin?.settings.reveal()).toEqual({ region: "eu", token: "t-1" });
    expect(providers["acme"]?.plugin?.settings.reveal()).toEqual({ region: "us" });
    expect(secrets.reveal()["mine"]?.apiKey).toBe("k-1");
  });

  it("is rejected for invalid settings, an unknown kind or a missing key", async () => {
    await writeProviders({ mine: { kind: "acme", regin: "eu" } });
    expect((await problems()).toSorted()).toEqual([
      'providers.mine.regin: is not a known setting. Did you mean "region"?',
      'providers.mine.region: must be "eu" or "us", not absent.',
    ]);
    await writeProviders({ mine: { kind: "acme", region: "eu", apiKeyEnv: "KEY" } });
    expect(await problems()).toEqual([
      'apps.default.models[0]: "mine/large" needs an API key: set KEY, or remove the model from the list.',
    ]);
    await writeProviders({ mine: { kind: "acmee" } });
    expect(await problems()).toContainEqual(expect.stringMatching(/^providers\.mine\.kind: must be "demo"/));
  });
});

it("types plugin sections in defineConfig", () => {
  const settings = z.strictObject({ units: z.enum(["metric", "imperial"]).optional() });
  const weather = defineToolSource({
    name: "weather",
    version: "1.0.0",
    settings,
    create: () => ({ tools: () => [] }),
  });
  const config = defineConfig({ plugins: [weather], apps: { default: { weather: { units: "metric" } } } });
  expectTypeOf(config.apps!["default"]!.weather).toEqualTypeOf<
    { readonly units?: "metric" | "imperial" | undefined } | undefined
  >();
  // @ts-expect-error: invalid unit.
  defineConfig({ plugins: [weather], apps: { default: { weather: { units: "kelvin" } } } });
  // @ts-expect-error: the plugin is not listed.
  defineConfig({ apps: { default: { weather: { units: "metric" } } } });
  expect(config.plugins).toEqual([weather]);
});

describe("the settings of a protocol", () => {
  const LINES = `
    import { defineProtocol } from "@colloquy/server";
    import { z } from "zod";
    export default defineProtocol({
      name: "lines",
      version: "1.0.0",
      settings: z.strictObject({
        token: z.string().min(4).describe("Token."),
        prompt: z.string().default("> ").describe("Prompt."),
      }),
      create: () => ({ routes() {} }),
    });`;
  const given = async (protocols: unknown) => {
    await install("acme-lines", LINES);
    await write("colloquy.config.json", {
      plugins: ["acme-lines"],
      ...(protocols !== undefined && { protocols }),
    });
  };

  it("are in its section, with placeholders and defaults", async () => {
    await given({ lines: { token: "{{env.LINES_TOKEN}}" } });
    const config = await loaded({ LINES_TOKEN: "t-1234" });
    expect(config.protocols["lines"]?.reveal()).toEqual({ token: "t-1234", prompt: "> " });
    expect(inspect(config.protocols, { depth: 5 })).not.toContain("t-1234");
  });

  it.each<[unknown, string]>([
    [undefined, "protocols.lines.token: must be text, not absent."],
    [
      { lines: { token: "abcd", promt: "" } },
      'protocols.lines.promt: is not a known setting. Did you mean "prompt"?',
    ],
    [{ line: {} }, 'protocols.line: is not a protocol with settings. Did you mean "lines"?'],
    [
      { lines: { token: "{{env.ABSENT}}" } },
      "protocols.lines.token: {{env.ABSENT}}: the environment variable ABSENT",
    ],
  ])("are checked: %j", async (protocols, problem) => {
    await given(protocols);
    const found = (await problems()).join("\n");
    expect(found).toContain(problem);
  });

  it("have types in a module", () => {
    const lines = defineProtocol({
      name: "lines",
      version: "1.0.0",
      settings: z.strictObject({ prompt: z.string() }),
      create: () => ({ routes() {} }),
    });
    const config = defineConfig({ plugins: [lines], protocols: { lines: { prompt: "" } } });
    expectTypeOf(config.protocols).toEqualTypeOf<
      { readonly lines?: { readonly prompt: string } } | undefined
    >();
    // @ts-expect-error a setting that the protocol does not have
    defineConfig({ plugins: [lines], protocols: { lines: { promt: "" } } });
  });
});
