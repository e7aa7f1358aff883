// Texts that go back to where they were written, because they were not sent.

interface Given {
  readonly number: number;
  readonly text: string;
}

const GAP = "\n\n";

/** What was given back to each composer and may still stand there, so that several stand in the order in which they were sent. */
export class UnsentTexts {
  readonly #given = new Map<string | null, readonly Given[]>();

  /** `written` with the text before it, behind those that were sent earlier. */
  placed(sessionId: string | null, { number, text }: Given, written: string): string {
    const given = this.#given.get(sessionId) ?? [];
    const earlier = given.filter((one) => one.number < number).map((one) => one.text);
    const all = [...given, { number, text }].toSorted((one, other) => one.number - other.number);
    this.#given.set(sessionId, all);
    return withUnsent(text, written, earlier);
  }

  /** Something else is written there from now on. */
  forget(sessionId: string | null): void {
    this.#given.delete(sessionId);
  }
}

/**
 * What was not sent before what is being written by now; once, where it has been given back already. `earlier` are texts that stay before it,
 * those of them that still stand at the beginning.
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
