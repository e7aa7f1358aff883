import { conversationsOf, createConversation } from "../../../lib/conversations.js";
import { forUser } from "../../../lib/handlers.js";

export const GET = forUser((_request, { user }) => Response.json(conversationsOf(user)));

export const POST = forUser((_request, { user }) =>
  Response.json({ session_id: createConversation(user) }, { status: 201 }),
);
