/**
 * What stands between two shares (0 to 1) of a list, in its order. Parts that meet at a share leave nothing out between them, and have
 * nothing in common.
 */
export function partOf<Item>(items: readonly Item[], from: number, to: number): readonly Item[] {
  return items.slice(Math.round(from * items.length), Math.round(to * items.length));
}
