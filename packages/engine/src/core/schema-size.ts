// Bounds of JSON Schemas that the operator did not write, and of checks against them. Counted without recursion,
// before anything else looks at the schema or the value.

/**
 * Maximum values of a schema: its objects, arrays, texts, numbers, booleans and nulls. Compiling takes linear
 * time, but up to a tenth of a millisecond for each.
 */
export const MAX_SCHEMA_VALUES = 4_096;
/** Maximum of a schema's values times those of the checked input, because every pair may have to be compared. */
export const MAX_CHECKED_PAIRS = 10_000_000;
/** Maximum nesting of schemas and inputs. Stored and shown JSON may have as many levels. */
export const MAX_CHECKED_LEVELS = 64;

/**
 * Returns the number of values in a value, including itself; `Infinity` if there are more than `most`, or if
 * they nest deeper than `levels`. Stops there, so that cycles end too.
 */
export function countValues(value: unknown, most: number, levels = MAX_CHECKED_LEVELS): number {
  let count = 1;
  let current = [value].filter(isContainer);
  for (let level = 0; current.length > 0; level += 1) {
    if (level === levels) return Infinity;
    const next: object[] = [];
    for (const container of current) {
      for (const inner of Object.values(container)) {
        count += 1;
        if (count > most) return Infinity;
        if (isContainer(inner)) next.push(inner);
      }
    }
    current = next;
  }
  return count > most ? Infinity : count;
}

function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
