// Where in the console one is. It stands in the hash of the address, which browsers keep to themselves: ids of sessions are capabilities,
// and this way none of them gets into the log of a server or into a referrer.

export type Route =
  | { readonly page: "chat"; readonly sessionId: string | null }
  | { readonly page: "operate"; readonly view: string };

const NEW_CHAT: Route = { page: "chat", sessionId: null };
/** What the first page of the operators is called in the address. */
const FIRST_VIEW = "overview";

/** Reads `location.hash`. What it does not know is a new chat. */
export function parseRoute(hash: string): Route {
  const [page, ...rest] = hash.replace(/^#?\/?/, "").split("/");
  if (page === "operate") return { page, view: rest.filter(Boolean).map(decoded).join("/") || FIRST_VIEW };
  const id = decoded(rest[0] ?? "");
  return page === "chat" && id !== "" ? { page, sessionId: id } : NEW_CHAT;
}

/** The hash of a link to `route`. */
export function hashOf(route: Route): string {
  if (route.page === "operate") return `#/operate/${route.view.split("/").map(encodeURIComponent).join("/")}`;
  return route.sessionId === null ? "#/" : `#/chat/${encodeURIComponent(route.sessionId)}`;
}

/** A percent sign that somebody typed is no reason for an empty page. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
