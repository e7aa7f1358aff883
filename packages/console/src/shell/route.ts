// The console's route, kept in the URL's hash, which browsers do not send: session ids are capabilities, and
// this way none of them reaches a server log or a referrer.

export type Route =
  | { readonly page: "chat"; readonly sessionId: string | null }
  | { readonly page: "approvals" }
  | { readonly page: "operate"; readonly view: string };

const NEW_CHAT: Route = { page: "chat", sessionId: null };
/** The first page of the operators' area, as named in the URL. */
const FIRST_VIEW = "overview";

/** Parses `location.hash`. Unknown routes become a new chat. */
export function parseRoute(hash: string): Route {
  const [page, ...rest] = hash.replace(/^#?\/?/, "").split("/");
  if (page === "operate") return { page, view: rest.filter(Boolean).map(decoded).join("/") || FIRST_VIEW };
  if (page === "approvals") return { page };
  const id = decoded(rest[0] ?? "");
  return page === "chat" && id !== "" ? { page, sessionId: id } : NEW_CHAT;
}

/** Returns the hash of a link to `route`. */
export function hashOf(route: Route): string {
  if (route.page === "operate") return `#/operate/${route.view.split("/").map(encodeURIComponent).join("/")}`;
  if (route.page === "approvals") return "#/approvals";
  return route.sessionId === null ? "#/" : `#/chat/${encodeURIComponent(route.sessionId)}`;
}

/** Tolerates malformed percent-encoding. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
