import type { Thread } from "@colloquy/protocol";
import { unknownSession } from "@colloquy/server/protocol";
import type { Call } from "./call.ts";

/** Throws the 404 of a missing conversation for one of another App. It belongs to none before its first message. */
export async function assertOfApp({ app, conversation }: Pick<Call, "app" | "conversation">): Promise<void> {
  const own = (await conversation.position())?.boundApp ?? app;
  if (own !== app) throw unknownSession();
}

interface Listed {
  readonly publicKey: string | null;
  readonly cursor: string | null;
  readonly limit: number;
}

interface ThreadPage {
  readonly threads: readonly Thread[];
  readonly next: string | null;
}

/** Returns a page of the conversations of the user or the wallet; `null` if the request has neither. */
export async function listThreads(
  { context, request, app }: Call,
  wanted: Listed,
): Promise<ThreadPage | null> {
  return await context.threads(request, { ...wanted, app });
}
