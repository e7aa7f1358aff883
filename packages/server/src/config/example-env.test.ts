import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { VARIABLES } from "./environment.ts";
import { BUILT_IN_TOOLS } from "@colloquy/engine/internal/config/app-schema";
import { KNOWN_PROVIDERS } from "@colloquy/engine/internal/config/providers";

const ADDRESSES = KNOWN_PROVIDERS.flatMap(({ address }) => address?.variable ?? []);
const ROOT = join(import.meta.dirname, "../../../..");

it("lists exactly the known variables in example.env", () => {
  const text = readFileSync(join(ROOT, "example.env"), "utf8");
  const listed = [...text.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = ""]) => name);
  const keys = KNOWN_PROVIDERS.flatMap(({ keyVariables }) => keyVariables.slice(0, 1));
  expect(listed.toSorted()).toEqual([...VARIABLES, ...keys, ...ADDRESSES].toSorted());
});

it("explains every variable and built-in tool in docs/configuration.md", () => {
  const text = readFileSync(join(ROOT, "docs", "configuration.md"), "utf8");
  const names = [...VARIABLES, ...ADDRESSES, ...BUILT_IN_TOOLS];
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
