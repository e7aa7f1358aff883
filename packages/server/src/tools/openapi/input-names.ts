const maximumLength = 64;

/** Assigns unique names to the inputs of a tool, of characters that models accept. */
export class InputNames {
  readonly #taken = new Set<string>();

  /** `place` distinguishes fields of the same name: `id`, then `id_body`, then `id_body_2`. */
  give(name: string, place: string): string {
    const plain = fit(name, "");
    if (this.#take(plain)) return plain;
    for (let count = 1; ; count += 1) {
      const candidate = fit(name, count === 1 ? `_${place}` : `_${place}_${count}`);
      if (this.#take(candidate)) return candidate;
    }
  }

  #take(name: string): boolean {
    if (this.#taken.has(name)) return false;
    this.#taken.add(name);
    return true;
  }
}

function fit(name: string, ending: string): string {
  const plain = name.replaceAll(/[^a-zA-Z0-9_.-]+/g, "_").replaceAll(/^_+|_+$/g, "") || "value";
  return plain.slice(0, maximumLength - ending.length) + ending;
}
