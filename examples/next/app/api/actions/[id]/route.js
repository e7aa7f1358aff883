import { forward } from "../../../../lib/forward.js";
import { forSession } from "../../../../lib/handlers.js";

export const POST = forSession(async (request, { session, params }) => {
  const { id } = await params;
  const { decision, result } = await request.json();
  return await forward(request, session, `/api/actions/${encodeURIComponent(id)}`, { decision, result });
});
