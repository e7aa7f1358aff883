// Preloaded to simulate the oldest supported runtimes: deletes the built-ins that `WITHOUT` lists, separated by spaces.

for (const name of (process.env["WITHOUT"] ?? "").split(" ")) {
  const path = name.split(".");
  const last = path.pop() ?? "";
  let owner = /** @type {Record<string, any>} */ (globalThis);
  for (const part of path) owner = owner[part];
  if (!(last in owner)) continue;
  if (!Reflect.deleteProperty(owner, last)) throw new Error(`${name} cannot be deleted`);
}
