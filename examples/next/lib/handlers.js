// Route handlers for requests of your own pages, of a user, and about a session of that user.

import { isOwn } from "./conversations.js";
import { userOf } from "./login.js";

export function refuse(status, detail) {
  return Response.json({ detail }, { status });
}

/** Other sites cannot act for your users: browsers name the origin of each request that changes something. */
export function fromOwnPage(handle) {
  return async (request, context) => {
    const origin = request.headers.get("origin");
    const isForeign = origin !== null && URL.parse(origin)?.host !== request.headers.get("host");
    if (request.method !== "GET" && isForeign) {
      return refuse(403, "Send this request from this site's own pages.");
    }
    return await handle(request, context);
  };
}

/** `handle` gets `{ user }`. */
export function forUser(handle) {
  return fromOwnPage(async (request, { params }) => {
    const user = userOf(request.cookies.get("login")?.value);
    return user === null ? refuse(401, "Log in first.") : await handle(request, { user, params });
  });
}

/** `handle` gets `{ user, session }`. EventSource sends no headers, so the id may be in the query. */
export function forSession(handle) {
  return forUser(async (request, { user, params }) => {
    const session = request.headers.get("x-session-id") ?? request.nextUrl.searchParams.get("session") ?? "";
    if (!isOwn(user, session)) return refuse(404, "You have no such conversation.");
    return await handle(request, { user, session, params });
  });
}
