import { useMemo } from "react";
import { loadDraft, saveDraft } from "./drafts.ts";
import { usePage } from "./page-context.tsx";

/**
 * Text of a composer, as a store for `useSyncExternalStore`. Each change is saved as the session's draft. The text is
 * not in assistant-ui's runtime, where each key press would notify all rendered messages.
 */
export class ComposerText {
  readonly #listeners = new Set<() => void>();
  readonly #save: (text: string) => void;
  #text: string;

  constructor(text: string, save: (text: string) => void) {
    this.#text = text;
    this.#save = save;
  }

  readonly getSnapshot = (): string => this.#text;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  set(text: string): void {
    this.#text = text;
    this.#save(text);
    for (const listener of this.#listeners) listener();
  }
}

/** Returns the composer text of a session. `draftOf` is `null` for a conversation that has not started. */
export function useComposerText(draftOf: string | null): ComposerText {
  const { storage } = usePage();
  return useMemo(
    () => new ComposerText(loadDraft(storage, draftOf), (text) => saveDraft(storage, draftOf, text)),
    [storage, draftOf],
  );
}
