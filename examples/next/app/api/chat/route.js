import { forward } from "../../../lib/forward.js";
import { forSession } from "../../../lib/handlers.js";

export const POST = forSession(async (request, { user, session }) => {
  const { message, user_state } = await request.json();
  const { COLLOQUY_APP: app = "support" } = process.env;
  return await forward(request, session, "/api/chat", { message, user_state, app, client_id: user });
});
