// Builds the published package: the entry modules with shared chunks, the stylesheet, and a self-contained
// `<colloquy-chat>`.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { begin, entriesOf, writeDeclarations, writeManifest } from "../../../scripts/published-package.ts";
import { buildPackage as buildClient } from "../../client/build/build-package.ts";
import { buildPackage as buildReact } from "../../react/build/build-package.ts";
import { bundle } from "./bundle.ts";

const PACKAGE = join(import.meta.dirname, "..");

const ELEMENT = join(PACKAGE, "src/element.ts");

/** Bundles `<colloquy-chat>` and the stylesheet into `outdir`. */
export async function buildElement(outdir: string): Promise<void> {
  await bundle({ outdir, entries: [ELEMENT, join(PACKAGE, "src/styles.css")], isAlone: true });
}

/**
 * Writes the package to `directory`. Throws an Error with the compiler's output if a source does not compile.
 */
export async function buildPackage(directory: string): Promise<void> {
  const dist = begin(directory);
  const entries = entriesOf(PACKAGE);
  await bundle({ outdir: dist, entries: entries.filter((entry) => entry !== ELEMENT), isAlone: false });
  await buildElement(dist);
  // TypeScript 6 checks that imports without names exist.
  writeFileSync(join(dist, "styles.css.d.ts"), "export {};\n");
  const others = mkdtempSync(join(tmpdir(), "colloquy-declarations-"));
  try {
    await buildClient(join(others, "client"));
    await buildReact(join(others, "react"));
    writeDeclarations(PACKAGE, dist, {
      paths: {
        "@colloquy/client": [join(others, "client/dist/index.d.ts")],
        "@colloquy/react": [join(others, "react/dist/index.d.ts")],
        "@colloquy/react/assistant-ui": [join(others, "react/dist/assistant-ui/index.d.ts")],
      },
    });
  } finally {
    rmSync(others, { recursive: true, force: true });
  }
  writeManifest(PACKAGE, directory);
}
