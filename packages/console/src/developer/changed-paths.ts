/** Appends a key to a JSON pointer (RFC 6901); "" is the root. */
export function pointer(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/**
 * Returns the paths of new and changed values with all paths above them, so that a collapsed tree shows that
 * something inside has changed. A removed value marks its container. Does not descend into identical objects.
 */
export function changedPaths(before: unknown, after: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  collect(before, after, "", found);
  return found;
}

function collect(before: unknown, after: unknown, path: string, found: Set<string>): boolean {
  if (Object.is(before, after)) return false;
  if (!isTree(before) || !isTree(after) || Array.isArray(before) !== Array.isArray(after)) {
    found.add(path);
    return true;
  }
  let isChanged = Object.keys(before).some((key) => !Object.hasOwn(after, key));
  for (const [key, value] of Object.entries(after))
    if (collect(Object.hasOwn(before, key) ? before[key] : undefined, value, pointer(path, key), found))
      isChanged = true;
  if (isChanged) found.add(path);
  return isChanged;
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
