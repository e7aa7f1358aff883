import { forward } from "../../../lib/forward.js";
import { forSession } from "../../../lib/handlers.js";

export const POST = forSession((request, { session }) => forward(request, session, "/api/interrupt"));
