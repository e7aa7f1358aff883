// Restores the text of unsent messages to their composer.

interface Given {
  readonly number: number;
  readonly text: string;
}

const GAP = "\n\n";

/** Remembers which texts each composer may still contain, so that restored texts keep their sending order. */
export class UnsentTexts {
  readonly #given = new Map<string | null, readonly Given[]>();

  /** Returns `written` with the text in front of it, but after restored texts that were sent earlier. */
  placed(sessionId: string | null, { number, text }: Given, written: string): string {
    const given = this.#given.get(sessionId) ?? [];
    const earlier = given.filter((one) => one.number < number).map((one) => one.text);
    const isLater = (one: Given): boolean => one.number > number;
    const all = [...given.filter((one) => !isLater(one)), { number, text }, ...given.filter(isLater)];
    this.#given.set(sessionId, all);
    return withUnsent(text, written, earlier);
  }

  /** Forgets the restored texts. Call when the composer's content was replaced. */
  forget(sessionId: string | null): void {
    this.#given.delete(sessionId);
  }
}

/** Removes the text of a message that was sent, unless the user has changed it. */
export function withoutSentText(text: string, written: string): string {
  if (written === text) return "";
  return written.startsWith(`${text}${GAP}`) ? written.slice(text.length + GAP.length) : written;
}

/**
 * Inserts unsent text before the current draft, unless the draft already contains it. Texts of `earlier` stay
 * in front if the draft still starts with them.
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
