/** Cuts a list into this many parts of about the same length, in its order. */
export function partsOf<Item>(items: readonly Item[], count: number): readonly (readonly Item[])[] {
  const edge = (place: number): number => Math.floor((place * items.length) / count);
  return Array.from({ length: count }, (_empty, place) => items.slice(edge(place), edge(place + 1)));
}
