import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../test/manual-clock.ts";
import { createWalletTools } from "../tools/wallet/wallet-tools.ts";
import type { Config } from "./config.ts";
import { loadConfig } from "./load-config.ts";
import { formatProblems } from "./problem.ts";
import { WALLET_TOOLS } from "./tool-names.ts";

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-apps-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

type Environment = Readonly<Record<string, string>>;

async function load(content: unknown, environment: Environment = {}) {
  await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(content));
  return loadConfig({ environment, workingDirectory: directory });
}

async function accepted(content: unknown, environment?: Environment): Promise<Config> {
  const result = await load(content, environment);
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.config;
}

async function app(section: unknown, environment?: Environment, chains?: unknown) {
  const content = { apps: { defi: section }, ...(chains !== undefined && { chains }) };
  return (await accepted(content, environment)).apps["defi"]!;
}

/** Every problem of an App `defi`, as `place: message`, the place without `apps.defi.`. */
async function problems(section: unknown, environment?: Environment): Promise<string[]> {
  const result = await load({ apps: { defi: section } }, environment);
  if (result.ok) return [];
  return result.problems.map(({ place, message }) => `${place.replace("apps.defi.", "")}: ${message}`);
}

async function warnings(section: unknown, environment?: Environment): Promise<readonly string[]> {
  const result = await load({ apps: { defi: section } }, environment);
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.warnings;
}

async function writeModule(name: string, text: string) {
  await writeFile(join(directory, "package.json"), '{"type":"module"}');
  await writeFile(join(directory, name), text);
  return loadConfig({ environment: {}, workingDirectory: directory });
}

const CHAINS = {
  "8453": { name: "Base", rpcURL: "https://base.test/{{env.RPC_KEY}}" },
  "1": {
    name: "Ethereum",
    rpcURL: "https://eth.test/rpc?key={{ env.RPC_KEY }}",
    currency: { symbol: "TEST", decimals: 6 },
    contracts: { multicall3: { address: "0xcA11bde05977b3631167028862bE2a173976CA11", blockCreated: 1 } },
  },
};

describe("Apps", () => {
  it("are as many as the file has, and `default` beside them", async () => {
    const { apps } = await accepted({
      apps: { defi: { requireKey: "all", onBusy: "reject" }, "team.a-1_b": { description: "The A team" } },
    });
    expect(Object.keys(apps)).toEqual(["default", "defi", "team.a-1_b"]);
    expect(apps["defi"]).toEqual({ ...apps["default"], requireKey: "all", onBusy: "reject" });
    expect(apps["team.a-1_b"]?.description).toBe("The A team");
  });

  it("have slots for secrets, which are required unless they say otherwise", async () => {
    const secrets = [
      { name: "ALCHEMY_KEY", description: "Key of Alchemy" },
      { name: "other", description: "Another", required: false },
    ];
    expect((await app({ secrets })).secrets).toEqual([{ ...secrets[0], required: true }, secrets[1]]);
  });

  it("have names, slots and sessions of the right form, or every problem is told at once", async () => {
    const result = await load({
      apps: {
        default: { requireKey: "all" },
        "a b": {},
        ["x".repeat(65)]: {},
        defi: { secrets: [{ name: "A-B", description: "x" }, { name: "C" }], requireKey: "chats", tool: [] },
        other: {
          secrets: [
            { name: "A", description: "x" },
            { name: "A", description: "y" },
          ],
          models: ["nobody/x"],
        },
        list: [],
      },
    });
    const found = result.ok ? [] : result.problems.map(({ place, message }) => `${place}: ${message}`);
    const name = "must be a short name of letters, digits and the characters . - _.";
    expect(found.toSorted()).toEqual(
      [
        'apps.default.requireKey: The App "default" never needs a key. Move what needs one to another App.',
        `apps["a b"]: ${name}`,
        `apps.${"x".repeat(65)}: ${name}`,
        "apps.defi.secrets[0].name: must be a name of at most 64 letters, digits and _, such as API_KEY.",
        "apps.defi.secrets[1].description: must be text, not absent.",
        'apps.defi.requireKey: must be "chat" or "all", not "chats".',
        'apps.defi.tool: is not a known setting. Did you mean "tools"?',
        'apps.other.secrets[1].name: "A" is in the list already.',
        'apps.other.models[0]: "nobody/x" names the provider "nobody", which is not configured. Known here: openai, anthropic, google, demo.',
        "apps.list: must be an object, not a list.",
      ].toSorted(),
    );
  });

  it("are not called after a prototype", async () => {
    await writeFile(join(directory, "colloquy.config.json"), '{"apps":{"__proto__":{"models":["a/b"]}}}');
    const result = await loadConfig({ environment: {}, workingDirectory: directory });
    expect(result.ok ? [] : result.problems).toMatchObject([{ place: "apps.__proto__" }]);
    expect((await accepted({ apps: { constructor: {} } })).apps["constructor"]?.requireKey).toBe("chat");
  });
});

describe("tools", () => {
  it("that come with the service are named in a list or an object", async () => {
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

  it("are written in a module with the AI SDK, and are left as they are", async () => {
    const result = await writeModule(
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

  it("may be wrong in many ways", async () => {
    expect(await problems({ tools: "calculator" })).toEqual([
      "tools: must be a list or an object, not text.",
    ]);
    const rule =
      "must be true for a tool that comes with the service, or what tool() of the AI SDK makes, with inputSchema and execute.";
    expect(
      await problems({ tools: { calculater: true, "a b": true, weather: {}, calculator: false } }),
    ).toEqual([
      'tools["a b"]: must be a tool\'s name: 1 to 64 letters, digits, _ and -.',
      `tools.weather: ${rule}`,
      `tools.calculator: ${rule}`,
      'tools.calculater: is not a tool that comes with the service. Did you mean "calculator"?',
      'tools["a b"]: is not a tool that comes with the service. Known here: current_time, calculator, ask_user.',
    ]);
    const result = await writeModule(
      "colloquy.config.js",
      `export default { apps: { defi: {
         tools: {
           a: { inputSchema: {}, execute() {}, needsApproval: true },
           b: { inputSchema: {}, execute() {}, toModelOutput() {}, onInputStart() {}, strict: true },
         },
         approvals: { a: true },
       } } };`,
    );
    expect(result.ok ? [] : result.problems.map(({ place }) => place)).toEqual([
      "apps.defi.approvals.a",
      "apps.defi.tools.a",
      "apps.defi.tools.b",
    ]);
    expect(result.warnings.slice(1)).toEqual([
      'colloquy.config.js, apps.defi.tools.b: has "onInputStart", which has no effect here.',
      'colloquy.config.js, apps.defi.tools.b: has "strict", which has no effect here.',
    ]);
  });

  it("that no one has are refused where effects or approvals name them", async () => {
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

  it("that are wrong where they stand are no unknown names beside that", async () => {
    const section = {
      tools: ["calculater"],
      mcp: { search: "https://search.test/mcp" },
      wallet: true,
      approvals: { calculater: "always", search_web: "always", wallet_balance: "always" },
    };
    const places = (await problems(section)).map((problem) => problem.split(":")[0]);
    expect(new Set(places)).toEqual(new Set(["mcp.search", "tools[0]", "wallet"]));
  });

  it("have effects and approvals out of a few words", async () => {
    expect(
      await problems({ effects: { calculator: "pure" }, approvals: { calculator: "sometimes" } }),
    ).toEqual([
      'effects.calculator: must be "read", "idempotent" or "unsafe", not "pure".',
      'approvals.calculator: must be "always", "never", or in a TypeScript or JavaScript file a function of the input.',
    ]);
  });
});

describe("MCP servers", () => {
  it("are reached by an address or a command, with what may be a key hidden", async () => {
    const { tools } = await app(
      {
        secrets: [{ name: "TOKEN", description: "x" }],
        mcp: {
          web: {
            url: "http://10.0.0.5:3000/mcp?tenant=a",
            headers: { Authorization: "Bearer {{ secret.TOKEN }}", "X-Key": "k-{{env.MY_KEY}}" },
          },
          files: { command: "npx", args: ["server", "/tmp"], env: { KEY: "{{env.MY_KEY}}", PLAIN: "{x}" } },
          bare: { command: "mcp" },
        },
      },
      { MY_KEY: "sk-1" },
    );
    const { web, files, bare } = tools.mcp;
    expect(web).toMatchObject({ transport: "http", url: "http://10.0.0.5:3000/mcp?tenant=a" });
    expect(web?.transport === "http" && web.headers.reveal()).toEqual({
      Authorization: "Bearer {{secret.TOKEN}}",
      "X-Key": "k-sk-1",
    });
    expect(files).toMatchObject({ transport: "stdio", command: "npx", args: ["server", "/tmp"] });
    expect(files?.transport === "stdio" && files.env.reveal()).toEqual({ KEY: "sk-1", PLAIN: "{x}" });
    expect(bare).toMatchObject({ transport: "stdio", args: [] });
    for (const print of [inspect(tools, { depth: null, showHidden: true }), JSON.stringify(tools)]) {
      expect(print).not.toContain("sk-1");
    }
  });

  it("may be wrong in many ways, each told with its place and without a key", async () => {
    const found = await problems(
      {
        secrets: [{ name: "TOKEN", description: "x" }],
        mcp: {
          neither: {},
          both: { url: "http://x.test", command: "npx" },
          address: { url: "http://user:password@x.test/", header: {} },
          scheme: { url: "ftp://x.test" },
          command: { command: " ", args: ["{env.MY_KEY}"], environment: {} },
          text: "https://x.test",
          "a/b": { url: "https://x.test" },
          keys: {
            url: "https://x.test/{{env.MY_KEY}}",
            headers: {
              A: "{{env.NOT_SET}}",
              B: "{{secret.TOKEM}}",
              C: "{{MY_KEY}}",
              D: "{{env.BROKEN}}",
              "E F": "x",
              G: "{{sk-live-1}}",
              H: "{{env.toString}}",
              I: "Bearer {{secret.TOKEN}",
              J: "Bearer {secret.TOKEN}",
              K: "{{secret.TOKEN}} and secret.TOKEN }}",
            },
          },
          process: { command: "npx", args: ["--key={{env.MY_KEY}}"], env: { A: "{{secret.TOKEN}}" } },
        },
      },
      { MY_KEY: "sk-1", BROKEN: "sk-2\nsk-3" },
    );
    const url = "must be an http or https URL without user name and password; keys stand in headers.";
    const none =
      "has braces {{…}} around something else than a placeholder. There are {{env.NAME}} and {{secret.NAME}}.";
    const braces = "has a placeholder with braces that do not match. Write {{env.NAME}} or {{secret.NAME}}.";
    const placeholder = "has a placeholder. They are filled in headers, env and rpcURL alone.";
    expect(found.toSorted()).toEqual(
      [
        'mcp.neither: needs "url" or "command".',
        "mcp.both.command: is not a known setting. Known here: url, headers.",
        `mcp.address.url: ${url}`,
        'mcp.address.header: is not a known setting. Did you mean "headers"?',
        `mcp.scheme.url: ${url}`,
        "mcp.command.command: must not be blank.",
        "mcp.command.environment: is not a known setting. Known here: command, args, env.",
        "mcp.text: must be an object, not text.",
        'mcp["a/b"]: must be a name of at most 32 letters, digits, _ and -.',
        `mcp.keys.url: ${placeholder}`,
        "mcp.keys.headers.A: {{env.NOT_SET}}: the environment variable NOT_SET is not set.",
        'mcp.keys.headers.B: {{secret.TOKEM}} is no slot of this App\'s "secrets". Did you mean "TOKEN"?',
        `mcp.keys.headers.C: ${none}`,
        `mcp.keys.headers.G: ${none}`,
        "mcp.keys.headers.H: {{env.toString}}: the environment variable toString is not set.",
        `mcp.keys.headers.I: ${braces}`,
        `mcp.keys.headers.J: ${braces}`,
        `mcp.keys.headers.K: ${braces}`,
        "mcp.keys.headers.D: with its placeholders filled in must be the value of a header field: one line of Latin-1 text.",
        'mcp.keys.headers["E F"]: must be the name of a header field.',
        `mcp.command.args[0]: ${placeholder}`,
        `mcp.process.args[0]: ${placeholder}`,
        "mcp.process.env.A: {{secret.TOKEN}} may stand in the headers of an App's mcp and openapi servers alone.",
      ].toSorted(),
    );
  });

  it("with a placeholder in a section that is wrong elsewhere are told once that is mended", async () => {
    expect(
      await problems({
        secrets: "TOKEN",
        mcp: { a: { url: "http://x.test", headers: { A: "{{secret.X}}" } } },
      }),
    ).toEqual(["secrets: must be a list, not text."]);
  });

  it("keep the variables that they ask for from being called unread", async () => {
    const section = { mcp: { a: { command: "x", env: { A: "{{env.COLLOQUY_MINE}}" } } } };
    expect(await warnings(section, { COLLOQUY_MINE: "1" })).toEqual([]);
  });
});

describe("OpenAPI services", () => {
  it("have a document beside the file or at an address", async () => {
    await writeFile(join(directory, "pets.yaml"), "");
    const { tools } = await app({
      secrets: [{ name: "KEY", description: "x" }],
      openapi: {
        pets: { document: "./pets.yaml", operations: ["listPets"], headers: { "X-Key": "{{secret.KEY}}" } },
        shops: { document: "https://shops.test/openapi.json?v=3", baseURL: "http://127.0.0.1:4000" },
      },
    });
    const { pets, shops } = tools.openapi;
    expect(pets).toMatchObject({
      document: join(directory, "pets.yaml"),
      operations: ["listPets"],
      baseURL: null,
    });
    expect(pets?.headers.reveal()).toEqual({ "X-Key": "{{secret.KEY}}" });
    expect(shops).toMatchObject({
      document: "https://shops.test/openapi.json?v=3",
      operations: null,
      baseURL: "http://127.0.0.1:4000",
    });
    expect(shops?.headers.reveal()).toEqual({});
  });

  it("stand on the directory of the file, wherever that is", async () => {
    const content = { apps: { defi: { openapi: { here: { document: "colloquy.config.json" } } } } };
    await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(content));
    const environment = { COLLOQUY_CONFIG: join(directory, "colloquy.config.json") };
    const result = await loadConfig({ environment, workingDirectory: tmpdir() });
    expect(result.ok && result.config.apps["defi"]?.tools.openapi["here"]?.document).toBe(
      join(directory, "colloquy.config.json"),
    );
  });

  it("may not begin with the name of another server: two of their tools could have one name", async () => {
    const server = { url: "https://x.test" };
    const service = { document: "http://x.test" };
    const clash = (name: string) =>
      `begins with the name of the server "${name}" and "_", so the names of their tools could be mixed up. Choose another one.`;
    const mcp = { pay_eu: server, pay: server, payment: server, constructor: server };
    expect(await problems({ mcp, openapi: { pay_us: service, payment_a: service } })).toEqual([
      `mcp.pay_eu: ${clash("pay")}`,
      `openapi.pay_us: ${clash("pay")}`,
      `openapi.payment_a: ${clash("payment")}`,
    ]);
    expect(await problems({ mcp: { pay: server, "pay-eu": server }, openapi: { payer: service } })).toEqual(
      [],
    );
  });

  it("may be wrong in many ways", async () => {
    const found = await problems({
      mcp: { twice: { command: "x" } },
      openapi: {
        gone: { document: "gone.yaml" },
        scheme: { document: "file:///etc/passwd" },
        twice: { document: "http://x.test", operations: ["a", "b", "a"] },
        base: { document: "http://x.test", baseURL: "http://x.test?key=1", operations: [] },
        none: {},
      },
    });
    expect(found.toSorted()).toEqual(
      [
        `openapi.gone.document: There is no file at ${join(directory, "gone.yaml")}.`,
        "openapi.scheme.document: must be a path, or an http or https URL without user name and password.",
        'openapi.twice.operations[2]: "a" is in the list already.',
        "openapi.twice: is also the name of an MCP server, so the names of their tools would be mixed up. Choose another one.",
        "openapi.base.baseURL: must be an http or https URL without user name, password and query.",
        "openapi.base.operations: must have at least 1 entry.",
        "openapi.none.document: must be text, not absent.",
      ].toSorted(),
    );
  });
});

describe("wallets", () => {
  const environment = { RPC_KEY: "sk-rpc" };

  it("are on all chains, the one with the least number first, or on those that the App names", async () => {
    const chains = (await app({ wallet: true }, environment, CHAINS)).tools.wallet?.chains ?? [];
    expect(chains.map(({ id, name, currency, contracts }) => ({ id, name, currency, contracts }))).toEqual([
      {
        id: 1,
        name: "Ethereum",
        currency: { symbol: "TEST", decimals: 6 },
        contracts: CHAINS["1"].contracts,
      },
      { id: 8453, name: "Base", currency: { symbol: "ETH", decimals: 18 }, contracts: null },
    ]);
    expect(chains.map(({ rpcURL }) => rpcURL.reveal())).toEqual([
      "https://eth.test/rpc?key=sk-rpc",
      "https://base.test/sk-rpc",
    ]);
    expect(JSON.stringify(chains)).not.toContain("sk-rpc");
    const named = await app({ wallet: { chains: [8453, 1] } }, environment, CHAINS);
    expect(named.tools.wallet?.chains.map(({ id }) => id)).toEqual([8453, 1]);
    expect((await app({ wallet: false }, environment, CHAINS)).tools.wallet).toBeNull();
    expect((await app({}, environment, CHAINS)).tools.wallet).toBeNull();
  });

  it("need chains that there are, with addresses", async () => {
    expect(await problems({ wallet: true })).toEqual([
      'wallet: needs at least one chain in "chains", beside "apps".',
    ]);
    expect(await problems({ wallet: "yes" })).toEqual([
      "wallet: must be true or false or an object, not text.",
    ]);
    const result = await load(
      {
        apps: { defi: { wallet: { chains: [1, 10, 1, 42161] } } },
        chains: {
          "1": { name: "Ethereum", rpcURL: "{{env.RPC_KEY}}" },
          "5": { name: "", rpcURL: "https://{{env.GONE}}" },
          "6": { name: "six", rpcURL: "https://x.test", contracts: { ens: { address: "0x1" } } },
          one: { name: "x", rpcURL: "https://x.test" },
        },
      },
      environment,
    );
    const found = result.ok ? [] : result.problems.map(({ place, message }) => `${place}: ${message}`);
    expect(found.toSorted()).toEqual(
      [
        'chains["1"].rpcURL: must be an http or https URL without user name and password.',
        'chains["5"].name: must not be blank.',
        'chains["6"].contracts.ens.address: must be an address: 0x and 40 hexadecimal digits.',
        "chains.one: must be the number of a chain, such as 1 for Ethereum.",
        'apps.defi.wallet.chains[1]: 10 is not configured. Did you mean "1"?',
        "apps.defi.wallet.chains[2]: 1 is in the list already.",
        "apps.defi.wallet.chains[3]: 42161 is not configured. Known here: 1, 5, 6, one.",
      ].toSorted(),
    );
  });
});

it("the tools of a wallet are known by their names", async () => {
  const chains = (await app({ wallet: true }, { RPC_KEY: "x" }, CHAINS)).tools.wallet?.chains ?? [];
  const tools = createWalletTools({ chains }, { clock: new ManualClock() });
  expect(tools.map(({ name }) => name).toSorted()).toEqual(WALLET_TOOLS.toSorted());
});

it("headers of a provider take variables as well", async () => {
  const provider = { kind: "openai-compatible", baseURL: "http://x.test" };
  const config = await accepted(
    { providers: { a: { ...provider, headers: { "X-Key": "{{env.MY_KEY}}" } } } },
    { MY_KEY: "sk-1" },
  );
  expect(config.secrets.provider("a").headers).toEqual({ "X-Key": "sk-1" });
  const result = await load({ providers: { a: { ...provider, headers: { "X-Key": "{{secret.A}}" } } } });
  expect(result.ok ? [] : result.problems).toMatchObject([{ place: "providers.a.headers.X-Key" }]);
});
