// JSON.parse keeps the last of several values with the same name, without a word. Whoever wrote them meant all of them.

/** A name that stands in an object once more. Lines and columns begin with 1. */
export interface RepeatedName {
  /** From the outermost object to the name. */
  readonly path: readonly PropertyKey[];
  readonly first: string;
  readonly again: string;
}

/** A text with what tells a name from a value, or what begins, divides or ends; what else there is does not matter here. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(?=(\s*:)?)|[{}[\],\n]/g;

interface Open {
  /** Where each name of an object stands; `null` in a list. */
  readonly names: Map<string, string> | null;
  /** Name or index of what is being read. */
  key: string | number;
}

/** The names that stand again in an object of `text`, which must be sound JSON, in their order. */
export function findRepeatedNames(text: string): readonly RepeatedName[] {
  const found: RepeatedName[] = [];
  const open: Open[] = [];
  let [line, lineStart] = [1, 0];
  for (const { 0: token, 1: colon, index } of text.matchAll(TOKEN)) {
    const inside = open.at(-1);
    if (token === "\n") [line, lineStart] = [line + 1, index + 1];
    else if (token === "{") open.push({ names: new Map(), key: "" });
    else if (token === "[") open.push({ names: null, key: 0 });
    else if (token === "}" || token === "]") open.pop();
    else if (token === ",") {
      if (typeof inside?.key === "number") inside.key += 1;
    } else if (colon !== undefined && inside?.names) {
      const name = String(JSON.parse(token));
      const place = `line ${line}, column ${index - lineStart + 1}`;
      const first = inside.names.get(name);
      inside.key = name;
      if (first === undefined) inside.names.set(name, place);
      else found.push({ path: open.map(({ key }) => key), first, again: place });
    }
  }
  return found;
}
