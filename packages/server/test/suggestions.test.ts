// Sends the suggested first messages of each template to the demo model, which must be able to answer them.

import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { loadConfig } from "../src/config/load-config.ts";
import type { Config } from "../src/config/config.ts";
import { newId, startService, until, type TestService } from "./service.ts";

const TEMPLATES = join(import.meta.dirname, "../../create/templates");
/** Matches the demo model's replies to messages that it cannot handle. */
const CANNOT = /not among the tools|no tools? |not configured|all I can do/;

let service: TestService | null = null;
afterEach(async () => {
  await service?.close();
  service = null;
});

async function appOf(file: string | null, name = "default"): Promise<Config["apps"][string]> {
  const loaded = await loadConfig({
    environment: { HOST: "127.0.0.1", ...(file !== null && { COLLOQUY_CONFIG: file }) },
    workingDirectory: import.meta.dirname,
  });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config.apps[name]!;
}

/**
 * Scaffolds a project from the template, as `npm create @colloquy` does. Returns the path of its
 * configuration file.
 */
async function configOf(template: string): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), "colloquy-suggestions-"));
  onTestFinished(() => rm(project, { recursive: true }));
  for (const folder of ["service", template]) await cp(join(TEMPLATES, folder), project, { recursive: true });
  await symlink(join(TEMPLATES, "../../../node_modules"), join(project, "node_modules"));
  return join(project, "colloquy.config.ts");
}

/**
 * Sends each suggestion to a new session. Returns the suggestions, the answers and the names of the called
 * tools.
 */
async function trySuggestions(app: Config["apps"][string]) {
  service = await startService({ adjust: (config) => ({ ...config, apps: { default: app } }) });
  const { say, snapshot, pass, apps } = service;
  const suggestions = apps.get("default")?.descriptor.suggestions ?? [];
  const tried = [];
  for (const text of suggestions) {
    const id = newId();
    await say(id, text);
    await until(async () => {
      // With longer steps, a turn could time out before the first call has imported its package.
      await pass(10);
      const { is_processing, pending_actions } = await snapshot(id);
      return !is_processing || pending_actions.length > 0;
    });
    const { messages, pending_actions } = await snapshot(id);
    const answer = messages[1];
    tried.push({
      text,
      answer: answer?.content ?? "",
      calls: answer?.tool_calls?.map(({ name, status }) => [name, status]) ?? [],
      isAsked: pending_actions.length > 0,
    });
  }
  return tried;
}

describe("suggestions", () => {
  it.each([
    ["a service without a configuration", null, "default", 4],
    ["the template `service`", "service", "default", 3],
    ["the template `react`", "react", "default", 3],
    ["the template `express`", "express", "support", 3],
  ] as const)("of %s work with the demo model", async (_what, template, name, count) => {
    const app = await appOf(template && (await configOf(template)), name);
    const tried = await trySuggestions(app);
    expect(tried).toHaveLength(count);
    for (const { text, answer, calls, isAsked } of tried) {
      expect({ text, answer }).toEqual({ text, answer: expect.not.stringMatching(CANNOT) });
      expect({ text, isAnswered: answer !== "" || isAsked }).toEqual({ text, isAnswered: true });
      expect({ text, failed: calls.filter(([, status]) => status === "error") }).toEqual({
        text,
        failed: [],
      });
    }
  });

  it("default to the App's tools, follow the setting, and are none for an empty list", async () => {
    const base = await appOf(null);
    const other = { ...base, models: ["test/scripted"] };
    const of = async (app: Config["apps"][string]) => {
      const started = await startService({ adjust: (config) => ({ ...config, apps: { default: app } }) });
      const { descriptor } = started.apps.get("default")!;
      await started.close();
      return descriptor.suggestions;
    };
    expect(await of(other)).toEqual(["What is 12 * 7?", "What time is it in Tokyo?"]);
    expect(await of({ ...other, suggestions: ["Where is my order?"] })).toEqual(["Where is my order?"]);
    expect(await of({ ...other, suggestions: [] })).toBeUndefined();
  });
});
