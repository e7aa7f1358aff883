// Loads the plugins of a configuration file: package names, relative paths, or plugin objects.

import { registerHooks } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { PluginCandidate } from "@colloquy/engine/internal/config/plugins";
import { describeModuleProblem, importFile, type FileReading } from "./read-file.ts";

export interface PluginReading {
  readonly candidates: readonly PluginCandidate[];
  /** Plugins that failed to load, with their path in the file. */
  readonly failures: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

/** Loads the entries of the unvalidated list `plugins`. */
export async function readPlugins(file: FileReading, stamps: Map<string, string>): Promise<PluginReading> {
  const list = (file.content as { readonly plugins?: unknown } | null | undefined)?.plugins ?? [];
  if (!Array.isArray(list)) return { candidates: [], failures: [] };
  const candidates: PluginCandidate[] = [];
  const failures: { readonly path: readonly PropertyKey[]; readonly message: string }[] = [];
  for (const [index, entry] of list.entries()) {
    const path = ["plugins", index];
    if (typeof entry !== "string") {
      candidates.push({ value: entry, path });
      continue;
    }
    try {
      const exported = defaultOf(await load(entry, file.directory, stamps));
      for (const value of Array.isArray(exported) ? exported : [exported])
        candidates.push({ value, path, from: entry });
    } catch (error) {
      failures.push({ path, message: describeFailure(entry, file.directory, error) });
    }
  }
  return { candidates, failures };
}

/** Returns the default export of a package or file. */
async function load(name: string, directory: string, stamps: Map<string, string>): Promise<unknown> {
  if (/^\.{1,2}\//.test(name)) return (await importFile(join(directory, name), stamps)).default;
  // Resolve the package as an import in `directory` would be.
  const parentURL = pathToFileURL(join(directory, "package.json")).href;
  // The comment makes the URL unique, because Node caches modules and failures by URL.
  const code = `import * as plugin from ${JSON.stringify(name)}; export { plugin }; // ${parentURL}`;
  const request = `data:text/javascript,${encodeURIComponent(code)}`;
  const hooks = registerHooks({
    resolve: (specifier, context, nextResolve) =>
      nextResolve(specifier, context.parentURL === request ? { ...context, parentURL } : context),
  });
  try {
    const { plugin } = (await import(request)) as { readonly plugin: { readonly default?: unknown } };
    return plugin.default;
  } finally {
    hooks.deregister();
  }
}

/** Unwraps the default export of an ES module that was compiled to CommonJS. */
function defaultOf(exported: unknown): unknown {
  const { __esModule: isCompiled, default: inner } = Object(exported) as Readonly<Record<string, unknown>>;
  return isCompiled === true ? inner : exported;
}

function describeFailure(name: string, directory: string, error: unknown): string {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  if (isMissing && String(message).includes(`'${name}'`))
    return `There is no package "${name}" in ${directory} or above. Install it there: npm install ${name}.`;
  const moduleProblem = describeModuleProblem(error, name);
  if (moduleProblem !== null) return `The plugin "${name}" ${moduleProblem}`;
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING")
    return `The plugin "${name}" is a package of TypeScript files, which Node does not run. Its author must publish JavaScript.`;
  return `The plugin "${name}" cannot be loaded: ${String(message)}`;
}
