// Event ids are `<life>-<n>`: `n` counts within one life of a session, `life` differs for every life of an id
// (contract section 5). Clients treat them as opaque.

export function formatEventId(life: string, n: number): string {
  return `${life}-${n}`;
}

/** The parts of an id, or `null` when the text is none that this service could have given out. */
export function parseEventId(text: string): { readonly life: string; readonly n: number } | null {
  const match = /^([0-9a-z]{1,32})-(0|[1-9][0-9]{0,14})$/.exec(text);
  if (match?.[1] === undefined || match[2] === undefined) return null;
  return { life: match[1], n: Number(match[2]) };
}
