// Returns the text of a message that could not be sent to its composer.

interface Given {
  readonly number: number;
  readonly text: string;
}

const GAP = "\n\n";

/** Texts restored to each composer that may still contain them, to keep them in sending order. */
export class UnsentTexts {
  readonly #given = new Map<string | null, readonly Given[]>();

  /** Returns `written` with the text in front of it, but after restored texts that were sent earlier. */
  placed(sessionId: string | null, { number, text }: Given, written: string): string {
    const given = this.#given.get(sessionId) ?? [];
    const earlier = given.filter((one) => one.number < number).map((one) => one.text);
    const all = [...given, { number, text }].toSorted((one, other) => one.number - other.number);
    this.#given.set(sessionId, all);
    return withUnsent(text, written, earlier);
  }

  /** Forgets the restored texts. Call when the composer's content was replaced. */
  forget(sessionId: string | null): void {
    this.#given.delete(sessionId);
  }
}

/**
 * Returns unsent text before the current draft, without duplicating it. `earlier` are texts that stay in
 * front if the draft still starts with them.
 */
export function withUnsent(text: string, written: string, earlier: readonly string[] = []): string {
  const before: string[] = [];
  let rest = written;
  for (const one of earlier) {
    if (rest !== one && !rest.startsWith(`${one}${GAP}`)) continue;
    before.push(one);
    rest = rest.slice(one.length + GAP.length);
  }
  return [...before, text, ...(rest === "" || rest === text ? [] : [rest])].join(GAP);
}
