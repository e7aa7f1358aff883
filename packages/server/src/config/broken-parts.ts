// A configuration module may contain getters that throw. Reading each property once here reports the error with
// its path instead of crashing the service.

export interface BrokenPart {
  readonly path: readonly PropertyKey[];
  readonly error: unknown;
}

/** Returns every property in the plain objects and arrays of `content` that throws when read. Skips class instances. */
export function brokenParts(content: unknown): readonly BrokenPart[] {
  const broken: BrokenPart[] = [];
  const seen = new Set<unknown>();
  const visit = (value: unknown, path: readonly PropertyKey[]): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    for (const key of keysOf(value, path, broken)) {
      const place = [...path, Array.isArray(value) ? Number(key) : key];
      try {
        visit((value as Readonly<Record<string, unknown>>)[key], place);
      } catch (error) {
        broken.push({ path: place, error });
      }
    }
  };
  visit(content, []);
  return broken;
}

function keysOf(value: object, path: readonly PropertyKey[], broken: BrokenPart[]): readonly string[] {
  try {
    const prototype: unknown = Object.getPrototypeOf(value);
    const isPlain = Array.isArray(value) || prototype === null || prototype === Object.prototype;
    return isPlain ? Object.keys(value) : [];
  } catch (error) {
    broken.push({ path, error });
    return [];
  }
}
