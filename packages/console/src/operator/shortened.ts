/** Number of characters shown of a long id. */
const ID_SHOWN = 8;
const LONG_ID = /^[\w-]{30,}$/;

/** Returns the beginning of a long id, and any other text unchanged. */
export function shortened(id: string): string {
  return LONG_ID.test(id) ? `${id.slice(0, ID_SHOWN)}…` : id;
}
