// Batches requests into one statement: those of one turn of the event loop, or those that arrive while the
// previous statement runs.

export type Answered<Answer> = { readonly value: Answer } | { readonly error: unknown };

interface Waiting<Asked, Answer> {
  readonly asked: Asked;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

const MOST_TOGETHER = 1_000;

export class Gathered<Asked, Answer> {
  readonly #run: (asked: readonly Asked[]) => Promise<readonly Answered<Answer>[]>;
  readonly #waiting: Waiting<Asked, Answer>[] = [];
  #isRung = false;
  #isBusy = false;

  /** `run` returns the results of all requests in order, and never rejects. */
  constructor(run: (asked: readonly Asked[]) => Promise<readonly Answered<Answer>[]>) {
    this.#run = run;
  }

  ask(asked: Asked): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#waiting.push({ asked, resolve, reject });
    this.#schedule();
    return promise;
  }

  /** Triggers a run soon, even without requests. */
  ring(): void {
    this.#isRung = true;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isBusy) return;
    this.#isBusy = true;
    setImmediate(() => void this.#next());
  }

  async #next(): Promise<void> {
    this.#isRung = false;
    const together = this.#waiting.splice(0, MOST_TOGETHER);
    const answers = await this.#run(together.map(({ asked }) => asked));
    together.forEach(({ resolve, reject }, index) => {
      const answer = answers[index];
      if (answer !== undefined && "value" in answer) resolve(answer.value);
      else reject(answer?.error);
    });
    this.#isBusy = false;
    if (this.#waiting.length > 0 || this.#isRung) this.#schedule();
  }
}

export function byKey<Asked extends { readonly key: string }>(
  asked: readonly Asked[],
): ReadonlyMap<string, readonly Asked[]> {
  return Map.groupBy(asked, ({ key }) => key);
}
