import { describeStoreContract } from "@colloquy/testing/internal/store/store-contract.suite";
import { openDocumentStore } from "./document-store.ts";

describeStoreContract("documents in a Map", async (clock) => {
  const documents = new Map<string, string>();
  const storage = {
    load: () => Array.from(documents, ([name, text]) => [name, JSON.parse(text) as unknown] as const),
    save: (changes: ReadonlyMap<string, unknown>) => {
      for (const [name, document] of changes)
        if (document === null) documents.delete(name);
        else documents.set(name, JSON.stringify(document));
      return Promise.resolve();
    },
  };
  const store = await openDocumentStore({ storage, clock });
  const reopen = async () => {
    await store.close();
    return await openDocumentStore({ storage, clock });
  };
  return { store, reopen, dispose: () => Promise.resolve() };
});
