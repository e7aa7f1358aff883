import { forward } from "../../../lib/forward.js";
import { forSession } from "../../../lib/handlers.js";

export const GET = forSession((request, { session }) => {
  const { searchParams } = request.nextUrl;
  const query = new URLSearchParams();
  for (const name of ["include", "last_event_id"]) query.set(name, searchParams.get(name) ?? "");
  return forward(request, session, `/api/updates?${query}`);
});
