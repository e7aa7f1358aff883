import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { VARIABLES } from "./environment.ts";
import { ConfigFile, ProviderSection } from "./file-schema.ts";
import { KNOWN_PROVIDERS } from "./known-providers.ts";

const ADDRESSES = KNOWN_PROVIDERS.flatMap(({ address }) => address?.variable ?? []);
const ROOT = join(import.meta.dirname, "../../../..");

it("example.env has every variable that is read, and no other", () => {
  const text = readFileSync(join(ROOT, "example.env"), "utf8");
  const listed = [...text.matchAll(/^#?([A-Z_]+)=/gm)].map(([, name = ""]) => name);
  const keys = KNOWN_PROVIDERS.flatMap(({ keyVariables }) => keyVariables.slice(0, 1));
  expect(listed.toSorted()).toEqual([...Object.keys(VARIABLES), ...keys, ...ADDRESSES].toSorted());
});

it("docs/configuration.md explains every variable and setting", () => {
  const text = readFileSync(join(ROOT, "docs", "configuration.md"), "utf8");
  const { apps, ...others } = ConfigFile.shape;
  const settings = [
    ...Object.keys(others),
    ...Object.keys(apps.unwrap().shape.default.unwrap().shape),
    ...Object.keys(ProviderSection.shape),
    ...Object.keys(ConfigFile.shape.limits.unwrap().shape),
    ...Object.keys(ConfigFile.shape.retention.unwrap().shape),
  ];
  const names = [...Object.keys(VARIABLES), ...ADDRESSES, ...settings];
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
