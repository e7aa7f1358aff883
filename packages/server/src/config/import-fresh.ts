// Node caches imported modules by URL. A reload gives the configuration and all files that it imports by a relative
// path new URLs, so that edits in any of them take effect. Packages stay cached. Imports that run later, inside a
// function, are not reloaded.

import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const RELOAD_PARAMETER = "colloquy-reading";

/** Imports the module at `path`. A new number in `reading` bypasses the module cache; use 0 for the first import. */
export async function importFresh(path: string, reading: number): Promise<{ readonly default?: unknown }> {
  const url = pathToFileURL(path);
  if (reading === 0) return (await import(url.href)) as { readonly default?: unknown };
  url.searchParams.set(RELOAD_PARAMETER, String(reading));
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const isOfReading =
        URL.parse(context.parentURL ?? "")?.searchParams.get(RELOAD_PARAMETER) === String(reading);
      if (!isOfReading || !/^(?:\.{0,2}\/|file:)/.test(specifier)) return resolved;
      const target = new URL(resolved.url);
      target.searchParams.set(RELOAD_PARAMETER, String(reading));
      return { ...resolved, url: target.href };
    },
  });
  try {
    return (await import(url.href)) as { readonly default?: unknown };
  } finally {
    hooks.deregister();
  }
}
