// Reproducible random choices: everything in a run follows from its seed.

export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
  /** From `low` to `high`, inclusive. */
  integer(low: number, high: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** Returns a UUID of version 4. */
  uuid(): string;
  /** Returns an independent generator, the same for the same name whatever was drawn before. */
  fork(name: string): Random;
}

/** Returns a generator for `seed` (sfc32: small, fast, good enough for choices; not for secrets). */
export function createRandom(seed: string | number): Random {
  const next = sfc32(String(seed));
  const integer = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[integer(0, items.length - 1)];
      if (item === undefined) throw new Error("Nothing to pick from.");
      return item;
    },
    uuid: () => {
      const digits = Array.from({ length: 32 }, () => integer(0, 15).toString(16));
      digits[12] = "4";
      digits[16] = integer(8, 11).toString(16);
      const text = digits.join("");
      return [[0, 8] as const, [8, 12] as const, [12, 16] as const, [16, 20] as const, [20, 32] as const]
        .map(([from, to]) => text.slice(from, to))
        .join("-");
    },
    fork: (name) => createRandom(`${seed}/${name}`),
  };
}

function sfc32(seed: string): () => number {
  let [a, b, c, d] = [0x9e3779b9, 0x243f6a88, 0xb7e15162, hash(seed)];
  const next = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let round = 0; round < 15; round += 1) next();
  return next;
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value;
}
