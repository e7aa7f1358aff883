// The sections of protocol plugins: `protocols.<name>`.

import { z } from "zod";
import { fillTexts } from "@colloquy/engine/internal/config/sources";
import { fillPlaceholders, type Filling } from "@colloquy/engine/internal/config/placeholders";
import { isPlainObject } from "@colloquy/engine/internal/core/json";
import { suggestion } from "@colloquy/engine/internal/core/nearest-name";
import { recordOf } from "@colloquy/engine/internal/config/schema-parts";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { Plugin } from "@colloquy/engine/internal/core/plugins/plugin";
import { isProtocol, type ProtocolPlugin } from "../http/protocol.ts";

type Settings = Readonly<Record<string, Hidden<unknown>>>;

/**
 * Returns the schema of the section `protocols`. `protocols.<name>` may be absent if all of its settings are optional.
 * `ColloquyConfig` declares the type.
 */
export function protocolSections(plugins: readonly Plugin[]) {
  const sections = withSettings(plugins).map(({ name, settings, description }) => {
    const section = (settings ?? z.object({})).prefault({});
    return [name, description === undefined ? section : section.describe(description)] as const;
  });
  const protocols = z
    .strictObject(Object.fromEntries(sections))
    .prefault({})
    .describe("Settings of the protocols of `plugins`, by name.");
  return { protocols };
}

/** Reads the unvalidated section: fills in placeholders, reports names of no protocol with settings, and omits them. */
export function fillProtocols(
  section: unknown,
  plugins: readonly Plugin[],
  filling: Filling,
  report: (path: readonly PropertyKey[], message: string) => void,
): object {
  // The schema reports other types.
  if (typeof section !== "object" || section === null || !isPlainObject(section)) return {};
  const names = withSettings(plugins).map(({ name }) => name);
  const filled = Object.entries(section).flatMap(([name, written]) => {
    if (names.includes(name))
      return [
        [
          name,
          fillTexts(written, ["protocols", name], (text, path) => fillPlaceholders(text, path, filling)),
        ],
      ];
    report(
      ["protocols", name],
      `is not a protocol with settings.${suggestion(name, names)} A protocol of a package must be listed in "plugins".`,
    );
    return [];
  });
  return { protocols: Object.fromEntries(filled) };
}

/** Returns the settings of parsed sections, by name. */
export function settingsOf(sections: unknown): Settings {
  return Object.fromEntries(
    Object.entries(recordOf(sections)).map(([name, settings]) => [name, new Hidden(settings)]),
  );
}

/** Validates sections and returns their settings, by name. Throws a TypeError with the first problem. */
export function parsedProtocols(
  plugins: readonly Plugin[],
  sections: Readonly<Record<string, object>>,
): Settings {
  const parsed = z.object(protocolSections(plugins)).safeParse({ protocols: sections });
  if (parsed.success) return settingsOf(parsed.data.protocols);
  const [issue] = parsed.error.issues;
  throw new TypeError(`${issue?.path.join(".")}: ${issue?.message}`);
}

function withSettings(plugins: readonly Plugin[]): readonly ProtocolPlugin[] {
  return plugins.filter(isProtocol).filter(({ settings }) => settings !== undefined);
}
