// Preloaded into Vitest on Node 20.

if (!("groupBy" in Map))
  Object.assign(Map, {
    /** @type {(items: Iterable<unknown>, keyOf: (item: unknown) => unknown) => Map<unknown, unknown[]>} */
    groupBy: (items, keyOf) => {
      const groups = new Map();
      for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
      return groups;
    },
  });
