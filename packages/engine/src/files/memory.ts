import type { FileStore } from "../core/plugins/file-store.ts";

/** Returns a store for an engine without a data directory, whose data is lost when the process exits. */
export function memoryFiles(): FileStore {
  const files = new Map<string, Uint8Array>();
  return {
    async put(name, content) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) chunks.push(chunk);
      files.set(name, Buffer.concat(chunks));
    },
    get(name, range) {
      const bytes = files.get(name);
      if (bytes === undefined) return Promise.resolve(null);
      return Promise.resolve(
        (async function* () {
          yield range === null ? bytes : bytes.subarray(range.first, range.last + 1);
        })(),
      );
    },
    remove(name) {
      files.delete(name);
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };
}
