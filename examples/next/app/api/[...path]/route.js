import { forward } from "../../../lib/forward.js";
import { fromOwnPage, refuse } from "../../../lib/handlers.js";
import { userOf } from "../../../lib/login.js";
import REQUESTS from "../../../requests.json";

/** Allowed requests, with the allowed names of query parameters and body fields. */
const ROUTES = Object.entries(REQUESTS).map(([request, names]) => [
  new RegExp(`^${request.replaceAll("ID", "[\\w-]+")}$`),
  names,
]);
/** Ignored names: this server sets App and user, and `session` is for `EventSource`, which has no headers. */
const IGNORED = ["app", "client_id", "session"];

const handle = fromOwnPage(async (request, given) => {
  const user = userOf(request.cookies.get("login")?.value);
  if (user === null) return refuse(401, "login_required", "Log in first.");
  const { pathname, searchParams } = new URL(request.url);
  const [, names] = ROUTES.find(([route]) => route.test(`${request.method} ${pathname}`)) ?? [];
  if (names === undefined) return refuse(404, "route_not_found", "This server forwards no such request.");
  const sent = [...searchParams.keys(), ...Object.keys(given ?? {})].filter(
    (name) => !IGNORED.includes(name),
  );
  const unknown = sent.find((name) => !names.includes(name));
  if (unknown !== undefined)
    return refuse(400, "field_not_allowed", `This server does not forward "${unknown}".`);
  const session = request.headers.get("x-session-id") ?? searchParams.get("session");
  for (const name of IGNORED) searchParams.delete(name);
  const { COLLOQUY_APP: app = "support" } = process.env;
  const body = pathname === "/api/chat" ? { ...given, app, client_id: undefined } : given;
  return await forward(request, { path: `${pathname}?${searchParams}`, user, session, body });
});

export { handle as GET, handle as POST, handle as PUT, handle as PATCH, handle as DELETE };
