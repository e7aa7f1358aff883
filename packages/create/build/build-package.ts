// Builds the published package: the command as JavaScript, and the templates with the versions that belong together.

import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { begin, writeManifest, writeModules } from "../../../scripts/published-package.ts";

const PACKAGE = join(import.meta.dirname, "..");
const ROOT = join(PACKAGE, "../..");
const PAGE = join(ROOT, "examples/react-chat");
const SERVER = join(ROOT, "examples/express");

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** Writes the package into `directory`. Throws with the compiler's output if the sources do not compile. */
export function buildPackage(directory: string): void {
  const dist = begin(directory);
  writeModules(PACKAGE, dist);
  const [service = "", react = "", express = ""] = ["service", "react", "express"].map((name) =>
    join(dist, "templates", name),
  );
  const sources = join(PACKAGE, "templates");
  cpSync(join(sources, "service"), service, { recursive: true });
  cpSync(join(ROOT, "deploy/Dockerfile.project"), join(service, "Dockerfile"));
  for (const template of [react, express]) cpSync(service, template, { recursive: true });
  for (const file of ["index.html", "vite.config.ts", "src"])
    cpSync(join(PAGE, file), join(react, file), { recursive: true });
  cpSync(join(sources, "react"), react, { recursive: true });
  for (const file of ["server.ts", "login.ts", "requests.json", "users.json", "public"])
    cpSync(join(SERVER, file), join(express, file), { recursive: true });
  cpSync(join(sources, "express"), express, { recursive: true });
  for (const template of [service, react, express]) fillVersions(join(template, "package.json"));
  writeManifest(PACKAGE, directory);
}

/** Replaces each version `*` by the one that this repository uses. */
function fillVersions(path: string): void {
  const known = knownVersions();
  const filled = readFileSync(path, "utf8").replaceAll(/"([^"]+)": "\*"/g, (_line, name: string) => {
    const version = known.get(name);
    if (version === undefined) throw new Error(`No manifest of the repository has a version of ${name}.`);
    return `"${name}": "${version}"`;
  });
  writeFileSync(path, filled);
}

function knownVersions(): ReadonlyMap<string, string> {
  const folders = [join(ROOT, "packages/server"), join(ROOT, "packages/react"), PAGE, SERVER, ROOT];
  const manifests = folders.map(
    (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest,
  );
  const own = manifests[0]?.version;
  return new Map([
    ...manifests.flatMap(({ dependencies, devDependencies }) =>
      Object.entries({ ...devDependencies, ...dependencies }),
    ),
    ...["server", "client", "react", "ui"].map((name) => [`@colloquy/${name}`, `^${own}`] as const),
  ]);
}
