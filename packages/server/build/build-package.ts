// Builds the published package: every module as JavaScript, declarations of the entries, the console, files for deployment, and the
// guide if it is built.

import { cpSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildConsole } from "../../console/build/build-console.ts";
import { begin, writeDeclarations, writeManifest, writeModules } from "../../../scripts/published-package.ts";

const PACKAGE = join(import.meta.dirname, "..");
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
  // Bundled protocols import this package: their types are those of these sources.
  const paths = { "@colloquy/server": [join(PACKAGE, "src/index.ts")] };
  writeDeclarations(PACKAGE, dist, { paths, platform: "node" });
  await buildConsole(join(dist, "console"));
  for (const name of NOT_SERVED) rmSync(join(dist, "console", name), { recursive: true });
  for (const name of DEPLOYMENT) cpSync(join(PACKAGE, "../../deploy", name), join(dist, "deploy", name));
  if (existsSync(GUIDE)) cpSync(GUIDE, join(dist, "guide"), { recursive: true });
  else
    console.warn("The package has no guide, because it is not built: npm ci --prefix site && npm run site");
  writeManifest(PACKAGE, directory);
}
