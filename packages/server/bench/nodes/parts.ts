/**
 * Returns the items between two shares (0 to 1) of a list, in order. Adjacent parts neither overlap nor leave
 * gaps.
 */
export function partOf<Item>(items: readonly Item[], from: number, to: number): readonly Item[] {
  return items.slice(Math.round(from * items.length), Math.round(to * items.length));
}
