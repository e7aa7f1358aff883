// Neither compiler nor linter sees a forgotten `yield*`, which would leave a statement out.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const sources = globSync("*.ts", { cwd: import.meta.dirname, exclude: ["*.test.ts"] }).map((file) => ({
  file,
  text: readFileSync(join(import.meta.dirname, file), "utf8"),
}));

/** Returns the names of statements and of functions that return work. */
function namesIn(text: string, scope: "" | "export "): string[] {
  const declarations = [
    `const (\\w+) = prepare<`,
    `function\\* (\\w+)`,
    `function (\\w+)\\((?:[^{]|\\{[^{}]*\\}: )*: Work<`,
  ];
  return declarations.flatMap((declaration) =>
    Array.from(text.matchAll(new RegExp(`^${scope}${declaration}`, "gm")), ([, name = ""]) => name),
  );
}

it("delegates, returns or passes on all work of the shared ports", () => {
  const exported = sources.flatMap(({ text }) => namesIn(text, "export "));
  const left = sources.flatMap(({ file, text }) => {
    const names = [...exported, ...namesIn(text, "")].join("|");
    const calls = new RegExp(`(?:[;{})]|\\belse)\\s*\\b(?:${names})(?:\\.(?:get|all|run))?\\(`, "g");
    return Array.from(text.matchAll(calls), ([call]) => `${file}: ${call}`);
  });
  expect(exported).toEqual(expect.arrayContaining(["writeAudit", "countByKey", "dueSessions"]));
  expect(left).toEqual([]);
});
