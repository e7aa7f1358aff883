// The reference of the JavaScript packages, from the declarations that are published.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildPackage as buildClient } from "../../packages/client/build/build-package.ts";
import { buildPackage as buildReact } from "../../packages/react/build/build-package.ts";
import { type Declaration, declarationsOf } from "./declarations.ts";

/** Names that only the packages themselves use. */
const INTERNAL = new Set(["Transport", "SessionPool", "ThreadList"]);

const CLIENT = [
  { name: "@colloquy/client", file: "index.d.ts" },
  { name: "@colloquy/client/admin", file: "admin.d.ts" },
];
const REACT = [
  { name: "@colloquy/react", file: "index.d.ts" },
  { name: "@colloquy/react/assistant-ui", file: "assistant-ui/index.d.ts" },
];

interface Entry {
  readonly name: string;
  readonly file: string;
}

/** Returns the pages of the client and of the React package. */
export async function clientPages(): Promise<{ readonly client: string; readonly react: string }> {
  const folder = mkdtempSync(join(tmpdir(), "colloquy-reference-"));
  try {
    await buildClient(join(folder, "client"));
    await buildReact(join(folder, "react"));
    const page = (title: string, guide: string, entries: readonly Entry[], built: string): string =>
      [
        `# ${title}`,
        `Generated from the published types; the [guide](${guide}) shows how to use them.`,
        ...entries.map(({ name, file }) => entryText(name, join(folder, built, "dist", file))),
      ].join("\n\n");
    return {
      client: page("Types of the client", "../client.md", CLIENT, "client"),
      react: page("Types for React", "../react.md", REACT, "react"),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function entryText(name: string, file: string): string {
  const { exported, mentioned } = declarationsOf(file, INTERNAL);
  const sorted = [...exported.toSorted((a, b) => rank(a) - rank(b)), ...mentioned];
  return [`## \`${name}\``, ...sorted.map(declarationText)].join("\n\n");
}

/** Functions and classes come first. */
function rank({ text }: Declaration): number {
  return /^(?:function|class|const)/.test(text) ? 0 : 1;
}

function declarationText({ name, about, text }: Declaration): string {
  return [`### \`${name}\``, ...(about === "" ? [] : [about]), `\`\`\`ts\n${text}\n\`\`\``].join("\n\n");
}
