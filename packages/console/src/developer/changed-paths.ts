/** Paths are JSON pointers (RFC 6901): "" is the whole. */
export function pointer(path: string, key: string | number): string {
  return `${path}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/**
 * Where `after` differs from `before`: every path to something new or other, with the paths above it, so that a tree that is closed shows that
 * something in it has changed. What is gone marks what it stood in. Pure; what is the same object is not looked into.
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
