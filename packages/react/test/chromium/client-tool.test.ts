// Client tools in pages: which tab runs a call, and its result after failures.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createClient, type Snapshot } from "@colloquy/client";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { CLAIM_MS } from "../../../engine/src/core/commands/claim-action.ts";
import { FaultProxy } from "../../../client/test/fault-proxy.ts";
import { Program } from "../../../server/test/black-box/server.ts";
import { ProviderServer, writeEvents } from "../../../server/test/provider-server.ts";
import { compatible } from "../../../server/test/providers/compatible-protocol.ts";
import type { ToolPage } from "./tool-page.tsx";

const HTML = `<!doctype html><html lang="en"><head><title>Tools</title><link rel="icon" href="data:,"></head>
<body><div id="root"></div><script type="module" src="/page.js"></script></body></html>`;
/** Chromium's console messages about claims of the other tab, expired claims, and the service being away. */
const EXPECTED = /^console: Failed to load resource: (?:net::ERR_|.*\b4(?:09|10)\b)/;
const isLeftOut = await isWithoutChromium();

const tool = { description: "A tool of the page", inputSchema: { type: "object" } };
const CONFIG = {
  models: ["local/scripted"],
  utilityModel: "demo/assistant",
  tools: [],
  clientTools: {
    quick: tool,
    once: tool,
    repeatable: { ...tool, repeatable: true },
    short: { ...tool, timeoutMs: 10_000 },
  },
};
/** Starts a service with its clock one claim ahead, so that earlier claims have lapsed. */
const LATER = `--import=data:text/javascript,${encodeURIComponent(`const { now } = Date; Date.now = () => now() + ${CLAIM_MS};`)}`;

let provider: ProviderServer;
let program: Program;
let proxy: FaultProxy;

beforeAll(async () => {
  if (isLeftOut) return;
  provider = new ProviderServer();
  await provider.start();
  provider.answer = answerAsModel;
  program = await Program.start({
    apps: { default: CONFIG },
    providers: { local: { kind: "openai-compatible", baseURL: provider.url } },
  });
  proxy = await FaultProxy.start(program.url);
  const script = await pageScript();
  const files: Record<string, string> = { "/": HTML, "/page.js": script };
  proxy.plan = ({ path }) => {
    const body = files[path];
    const type = path === "/" ? "text/html; charset=utf-8" : "text/javascript";
    return body === undefined ? null : { status: 200, headers: { "content-type": type }, body };
  };
});
afterEach(() => proxy?.cut());
afterAll(async () => {
  await proxy?.stop();
  await program?.remove();
  await provider?.stop();
});

async function pageScript(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, "tool-page.tsx")],
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"development"' },
  });
  return outputFiles[0]!.text;
}

/** Calls the tools that the message names, then answers with their results. */
const answerAsModel: ProviderServer["answer"] = (response, { body }) => {
  const messages = body["messages"] as ReadonlyArray<{ readonly role: string; readonly content: string }>;
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const results = messages.slice(asked).filter(({ role }) => role === "tool");
  const parts =
    results.length > 0
      ? [{ deltas: [results.map(({ content }) => content).join(" | ")] }]
      : (messages[asked]?.content ?? "")
          .split(" ")
          .map((name, index) => ({ tool: name, input: { call: index }, id: `call_${index}` }));
  writeEvents(response, compatible.answer(parts));
  response.end("data: [DONE]\n\n");
};

describe.skipIf(isLeftOut)("a client tool in Chromium", () => {
  const openPage = useChromium();

  /** Opens a tab that shows the conversation. */
  async function openTab(id: string): Promise<Page> {
    const { page, expectTrouble } = await openPage(proxy.url);
    expectTrouble(EXPECTED);
    await page.goto(`/#${id}`);
    await page.getByRole("heading", { name: "live" }).waitFor();
    return page;
  }

  const send = (id: string, text: string): Promise<Snapshot> =>
    createClient({ baseUrl: program.url }).sendMessage(id, text);

  /** Returns the answer to the last message, once it is complete. */
  async function answerIn(id: string): Promise<string> {
    const read = async (): Promise<string | undefined> => {
      const { messages, is_processing } = await createClient({ baseUrl: program.url }).getState(id);
      return is_processing ? undefined : messages.at(-1)?.content;
    };
    await expect.poll(read, { timeout: 90_000 }).toBeDefined();
    return (await read()) ?? "";
  }

  /** Returns the inputs of the calls that the page has begun to run. */
  const started = (page: Page): Promise<unknown[]> =>
    page.evaluate(() => (globalThis as unknown as ToolPage).started.map(({ input }) => input));
  async function begun(page: Page, calls = 1): Promise<void> {
    await expect.poll(() => started(page)).toHaveLength(calls);
  }
  const finish = (page: Page, output: unknown): Promise<void> =>
    page.evaluate((output) => (globalThis as unknown as ToolPage).started.at(-1)?.finish(output), output);

  it("runs each call in exactly one of two tabs", async () => {
    const id = randomUUID();
    const tabs = [await openTab(id), await openTab(id)];
    await send(id, Array.from({ length: 12 }, () => "quick").join(" "));
    const inputs = Array.from({ length: 12 }, (_, call) => ({ call }));
    expect(await answerIn(id)).toBe(inputs.map((input) => JSON.stringify(input)).join(" | "));
    const ran = (await Promise.all(tabs.map(started))).flat() as { readonly call: number }[];
    expect(ran.toSorted((one, other) => one.call - other.call)).toEqual(inputs);
  });

  it("reports the result of a call during which the service was killed", async () => {
    const id = randomUUID();
    const page = await openTab(id);
    await send(id, "once");
    await begun(page);
    await program.stop("SIGKILL");
    await page.getByRole("heading", { name: "waiting" }).waitFor();
    await finish(page, { title: "Tea" });
    await program.run();
    proxy.target = program.url;
    expect(await answerIn(id)).toBe('{"title":"Tea"}');
    await page.getByText('{"title":"Tea"}').waitFor();
    expect(await started(page)).toHaveLength(1);
  });

  it("tells the model what the handler throws", async () => {
    const id = randomUUID();
    const page = await openTab(id);
    await send(id, "once");
    await begun(page);
    await page.evaluate(() => (globalThis as unknown as ToolPage).started[0]?.fail("There is no page."));
    expect(await answerIn(id)).toContain("There is no page.");
  });

  it("aborts a handler that never ends at the tool's time limit, and continues", async () => {
    const id = randomUUID();
    const page = await openTab(id);
    await send(id, "short");
    await begun(page);
    expect(await answerIn(id)).not.toBe("");
    await page.waitForFunction(() => (globalThis as unknown as ToolPage).started[0]?.signal.aborted);
    await send(id, "quick");
    expect(await answerIn(id)).toBe('{"call":0}');
  });

  // Last, because the service stays ahead of the pages' clocks.
  it("is not run again after a kill and a reload, unless it is repeatable", async () => {
    const id = randomUUID();
    const page = await openTab(id);
    await send(id, "once repeatable");
    await begun(page, 2);
    await program.stop("SIGKILL");
    await page.reload();
    await program.run({ NODE_OPTIONS: LATER });
    proxy.target = program.url;
    // Retries of the page are up to 30 s apart.
    await expect.poll(() => started(page), { timeout: 60_000 }).toEqual([{ call: 1 }]);
    await finish(page, "again");
    expect(await answerIn(id)).toBe("outcome unknown | again");
    expect(await started(page)).toHaveLength(1);
  });
});
