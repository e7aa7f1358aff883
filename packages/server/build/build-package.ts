// Builds the published package: every module as JavaScript, declarations of the entries, migrations, the console, files for
// deployment, and the guide if it is built.

import { cpSync, existsSync, globSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildConsole } from "../../console/build/build-console.ts";
import { begin, writeDeclarations, writeManifest, writeModules } from "../../../scripts/published-package.ts";

const PACKAGE = join(import.meta.dirname, "..");
const SOURCES = join(PACKAGE, "src");
/** Output of `npm run site`. */
const GUIDE = join(PACKAGE, "../../site/dist");
/** Files of deploy/ that suit an installed package. */
const DEPLOYMENT = ["colloquy.service", "nginx.conf", "alerts.yml"];
/** Files that the console's build keeps for the next build. */
const NOT_SERVED = [".vite", "sources.sha256"];

/** Writes the package into `directory`. Throws with the compiler's output if the sources do not compile. */
export async function buildPackage(directory: string): Promise<void> {
  const dist = begin(directory);
  writeModules(PACKAGE, dist);
  writeDeclarations(PACKAGE, dist, { paths: {}, platform: "node" });
  for (const file of globSync("**/*.sql", { cwd: SOURCES })) cpSync(join(SOURCES, file), join(dist, file));
  await buildConsole(join(dist, "console"));
  for (const name of NOT_SERVED) rmSync(join(dist, "console", name), { recursive: true });
  for (const name of DEPLOYMENT) cpSync(join(PACKAGE, "../../deploy", name), join(dist, "deploy", name));
  if (existsSync(GUIDE)) cpSync(GUIDE, join(dist, "guide"), { recursive: true });
  writeManifest(PACKAGE, directory);
}
