// A registry on this machine for the packages of the repository, and programs that are started from them.

import type { ChildProcess } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { findFreePort } from "../packages/server/torture/harness/server-process.ts";
import { findInstalled } from "./installed.ts";

/** Path of the registry's program; `null` if it is not installed. */
export const VERDACCIO = findInstalled("registry", "verdaccio/bin/verdaccio");

/**
 * Starts a registry for our packages only, and writes `.npmrc` into the folder. Everything else comes from npm's usual
 * one. Returns its address.
 */
export async function startRegistry(
  folder: string,
  start: (directory: string, command: readonly string[]) => ChildProcess,
): Promise<string> {
  const settings = {
    storage: join(folder, "storage"),
    packages: { "@colloquy/*": { access: "$all", publish: "$all" } },
    log: { type: "stdout", format: "json", level: "warn" },
  };
  await writeFile(join(folder, "verdaccio.yaml"), JSON.stringify(settings));
  const host = `127.0.0.1:${await findFreePort()}`;
  const registry = `http://${host}`;
  const command = ["--config", join(folder, "verdaccio.yaml"), "--listen", host];
  await output(start(folder, [process.execPath, VERDACCIO ?? "", ...command]), /(http address)/);
  const lines = [`@colloquy:registry=${registry}/`, `//${host}/:_authToken=anyone`];
  await writeFile(join(folder, ".npmrc"), lines.join("\n"));
  return registry;
}

/** Pins what assistant-ui depends on to the versions of this repository: its packages are not all published at once. */
export async function pinAssistantUi(directory: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(import.meta.dirname, "../package-lock.json"), "utf8")) as Lock;
  const names = ["core", "store", "tap"].map((name) => `@assistant-ui/${name}`);
  const overrides = Object.fromEntries(
    names.map((name) => [name, lock.packages[`node_modules/${name}`]?.version]),
  );
  const path = join(directory, "package.json");
  const manifest = JSON.parse(await readFile(path, "utf8")) as object;
  await writeFile(path, JSON.stringify({ ...manifest, overrides }));
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

/** Resolves with what the pattern finds in the output. */
export async function output({ stdout }: ChildProcess, pattern: RegExp): Promise<string> {
  if (stdout === null) throw new Error("The output is not piped.");
  const lines: string[] = [];
  for await (const line of createInterface({ input: stdout })) {
    lines.push(line);
    const [, found] = pattern.exec(line) ?? [];
    if (found === undefined) continue;
    stdout.resume();
    return found;
  }
  throw new Error(`The program ended:\n${lines.join("\n")}`);
}
