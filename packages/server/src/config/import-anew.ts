// Node keeps every module that it has imported, by its URL. A configuration that is read again gets a URL of its own, and so do the files
// that it imports by a relative path, or an edit in one of them would go unseen. Packages stay as they are. What is imported inside a
// function, later, is not read again.

import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";

const MARK = "colloquy-reading";

/** Imports the module at `path`, from the disk when `reading` is a number that was not used before; 0 is for the first time. */
export async function importAnew(path: string, reading: number): Promise<{ readonly default?: unknown }> {
  const url = pathToFileURL(path);
  if (reading === 0) return (await import(url.href)) as { readonly default?: unknown };
  url.searchParams.set(MARK, String(reading));
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const isOfReading = URL.parse(context.parentURL ?? "")?.searchParams.get(MARK) === String(reading);
      if (!isOfReading || !/^(?:\.{0,2}\/|file:)/.test(specifier)) return resolved;
      const target = new URL(resolved.url);
      target.searchParams.set(MARK, String(reading));
      return { ...resolved, url: target.href };
    },
  });
  try {
    return (await import(url.href)) as { readonly default?: unknown };
  } finally {
    hooks.deregister();
  }
}
