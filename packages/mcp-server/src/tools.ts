// Defines the tools. Their schemas avoid formats, patterns and unions, which some model providers reject.

import type { Message, PendingAction, Snapshot } from "@colloquy/protocol";
import { parseSessionId } from "@colloquy/protocol";
import {
  InvalidRequest,
  NotFound,
  readMessage,
  ServiceError,
  unknownSession,
} from "@colloquy/server/protocol";
import type {
  CallToolResult,
  McpServer,
  ServerContext,
  StandardSchemaWithJSON,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { readAnswer, type StartedTurn, type TurnAnswer, turnOf, waitForTurn } from "./answer.ts";
import { assertOfApp, listThreads } from "./conversations.ts";
import { FILES_MAX, filesOf, lineOf, LinkedFile, linksFor } from "./files.ts";
import { portable } from "./portable-schema.ts";
import { Progress } from "./progress.ts";
import type { Call } from "./call.ts";
import { cut, fromMessage, markdownOf } from "./transcript.ts";

/** Default wait. Below the 60 seconds after which most clients time out. */
const WAIT_SECONDS = 50;
const WAIT_MAX_SECONDS = 300;
/**
 * Maximum characters of text in a result. Results contain the text twice, and hosts reject more than 25,000 tokens.
 */
const TEXT_MAX = 20_000;
/** Default number of messages in a result. */
const MESSAGES = 20;
const MESSAGES_MAX = 100;
/** Default number of conversations in a list. */
const LISTED = 20;
const LISTED_MAX = 100;
const FOUND_MAX = 50;

const SessionId = z
  .string()
  .describe("Id of the conversation: the session_id that start_conversation returned");
const Text = z.string().describe("Text of the message");
/** Returns a schema for integers that also accepts their text, which some models send. */
const integer = (min: number, max: number) =>
  z.preprocess(
    (value) => (typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value),
    z.int().min(min).max(max),
  );

const WaitSeconds = integer(0, WAIT_MAX_SECONDS)
  .optional()
  .describe(
    `Maximum seconds to wait for the answer, ${WAIT_SECONDS} if absent. Afterwards the answer continues: call get_conversation`,
  );

const Status = z
  .enum(["queued", "running", "waiting", "complete", "interrupted", "failed"])
  .describe("Status of the answer. queued, running: in progress; waiting: for the pending actions");
const PendingActions = z
  .array(
    z.object({
      id: z.string(),
      kind: z.string().describe("approval, question, client_tool, wallet_transaction or wallet_signature"),
      tool: z.string(),
      request: z.record(z.string(), z.unknown()).describe("Details for the person who decides"),
      expires_at: z.string(),
    }),
  )
  .describe("Actions that wait for a person, oldest first");

const Files = z
  .array(LinkedFile)
  .optional()
  .describe(`Files, oldest first: the newest ${FILES_MAX} of the result. To get their content, read the uri`);

const Answer = z.object({
  session_id: z.string(),
  message_id: z.string().describe("Id of the user's message"),
  status: Status,
  text: z.string().describe("Text of the answer so far"),
  is_cut: z
    .boolean()
    .describe("True if text or files were truncated. The resource of the conversation has all of them"),
  files: Files,
  pending_actions: PendingActions,
  error: z.object({ code: z.string(), message: z.string() }).optional().describe("Why the answer failed"),
});

const Conversation = z.object({
  session_id: z.string(),
  title: z.string(),
  status: Status,
  messages: z.array(
    z.object({
      id: z.string(),
      role: z.enum(["user", "assistant"]),
      text: z.string(),
      status: z.string(),
      created_at: z.string(),
      tools: z.array(z.string()).describe("Names of the called tools"),
      files: Files,
    }),
  ),
  has_earlier: z
    .boolean()
    .describe("True if there are earlier messages. To get them, send the id of the first message as before"),
  pending_actions: PendingActions,
});

const Conversations = z.object({
  conversations: z.array(
    z.object({ session_id: z.string(), title: z.string(), created_at: z.string(), updated_at: z.string() }),
  ),
  next_cursor: z.string().optional().describe("Absent on the last page"),
});

const Found = z.object({
  results: z.array(
    z.object({
      session_id: z.string(),
      title: z.string(),
      message_id: z.string(),
      role: z.enum(["user", "assistant"]),
      created_at: z.string(),
      snippet: z.string().describe("The message around the words, which are between two asterisks"),
    }),
  ),
  next_cursor: z.string().optional().describe("Absent on the last page"),
});

const START = tool({
  name: "start_conversation",
  title: "Start a conversation",
  description:
    "Starts a conversation with the assistant, and returns its session_id and the answer to the message.",
  input: z.object({
    message: Text,
    session_id: z
      .string()
      .optional()
      .describe(
        "UUID for the conversation, chosen by the client. Repeating a call with the same UUID has no effect",
      ),
    wait_seconds: WaitSeconds,
  }),
  output: Answer,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  async run(call, { message, session_id: id, wait_seconds: seconds }, progress) {
    if (id !== undefined) assertNames(call, id);
    const begin = async (): Promise<StartedTurn> => {
      const idempotencyKey = id === undefined ? null : FIRST_MESSAGE;
      return turnOf(await call.conversation.send({ text: readMessage(message), idempotencyKey }));
    };
    return await answered(call, begin, { seconds, progress });
  },
});

const SEND = tool({
  name: "send_message",
  title: "Send a message",
  description: "Sends a message to a conversation, and returns the answer.",
  input: z.object({
    session_id: SessionId,
    message: Text,
    message_id: z
      .string()
      .optional()
      .describe(
        "UUID for the message, chosen by the client. Repeating a call with the same UUID has no effect",
      ),
    wait_seconds: WaitSeconds,
  }),
  output: Answer,
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  async run(call, { session_id: id, message, message_id: messageId, wait_seconds: seconds }, progress) {
    assertNames(call, id);
    if (messageId !== undefined && parseSessionId(messageId) === null) throw notAnId("message_id");
    const begin = async (): Promise<StartedTurn> => {
      const text = readMessage(message);
      await assertExists(call);
      return turnOf(await call.conversation.send({ text, ...(messageId !== undefined && { messageId }) }));
    };
    return await answered(call, begin, { seconds, progress });
  },
});

const GET = tool({
  name: "get_conversation",
  title: "Get a conversation",
  description: "Returns the newest messages of a conversation, and the status of the newest answer.",
  input: z.object({
    session_id: SessionId,
    limit: integer(1, MESSAGES_MAX).optional().describe(`Maximum messages, ${MESSAGES} if absent`),
    before: z.string().optional().describe("Id of a message: returns the messages before it"),
    wait_seconds: WaitSeconds.describe("Maximum seconds to wait until the answer has ended, 0 if absent"),
  }),
  output: Conversation,
  hints: { readOnlyHint: true },
  async run(call, { session_id: id, limit = MESSAGES, before, wait_seconds: seconds = 0 }, progress) {
    assertNames(call, id);
    const turn = await newestTurn(call);
    const wait = { seconds, progress };
    const begin = (turn: number) => () => Promise.resolve({ turn, start: null });
    if (turn !== null) await waitForTurn(call.conversation, begin(turn), wait);
    return await conversationResult(call, limit, before);
  },
});

const LIST = tool({
  name: "list_conversations",
  title: "List conversations",
  description: "Lists the conversations of the signed-in user, or those of a wallet, newest first.",
  input: z.object({
    public_key: z.string().optional().describe("Wallet address; absent for the conversations of the user"),
    limit: integer(1, LISTED_MAX).optional().describe(`Maximum conversations, ${LISTED} if absent`),
    cursor: z.string().optional().describe("next_cursor of the previous page"),
  }),
  output: Conversations,
  hints: { readOnlyHint: true },
  async run(call, { public_key: publicKey = null, limit = LISTED, cursor = null }) {
    const page = await listThreads(call, { publicKey, limit, cursor });
    if (page === null) throw nobody();
    const conversations = page.threads.map(({ session_id, title, created_at, updated_at }) => ({
      session_id,
      title,
      created_at,
      updated_at,
    }));
    const lines = conversations.map((one) => `- ${one.session_id}: ${one.title} (${one.updated_at})`);
    return {
      text: [lines.length === 0 ? "There are no conversations." : lines.join("\n")],
      structured: { conversations, ...(page.next !== null && { next_cursor: page.next }) },
    };
  },
});

const SEARCH = tool({
  name: "search",
  title: "Search messages",
  description:
    "Finds messages with all words of a query, newest first: in the conversations of the signed-in user, or in one conversation.",
  input: z.object({
    query: z
      .string()
      .describe(
        "Words in any order; the last one may be the beginning of a word. Quotes search for a phrase",
      ),
    session_id: SessionId.optional().describe("Id of the only conversation to search"),
    limit: integer(1, FOUND_MAX).optional().describe(`Maximum results, ${LISTED} if absent`),
    cursor: z.string().optional().describe("next_cursor of the page before"),
  }),
  output: Found,
  hints: { readOnlyHint: true },
  async run(call, { query, session_id: id, limit = LISTED, cursor = null }) {
    const { context, request, app } = call;
    if (id !== undefined) {
      assertNames(call, id);
      await assertExists(call);
    }
    const wanted = { app, query, onlyConversation: id !== undefined, limit, cursor };
    const page = await context.search(request, wanted);
    if (page === null) throw nobodySearches();
    const results = page.results.map(({ snippet, sender, ...found }) => ({
      ...found,
      role: sender === "user" ? ("user" as const) : ("assistant" as const),
      snippet: snippet.map(({ text, match }) => (match ? `**${text}**` : text)).join(""),
    }));
    const lines = results.map(
      (one) => `- ${one.session_id}, ${one.title} (${one.created_at}): ${one.snippet}`,
    );
    const next = page.next_cursor;
    const none =
      next === null ? "No message matches." : "No message matches so far: send next_cursor as cursor.";
    return {
      text: [lines.length === 0 ? none : lines.join("\n")],
      structured: { results, ...(next !== null && { next_cursor: next }) },
    };
  },
});

const INTERRUPT = tool({
  name: "interrupt",
  title: "Interrupt the answer",
  description: "Stops the answer in progress and the answers of queued messages.",
  input: z.object({ session_id: SessionId }),
  output: z.object({ session_id: z.string(), status: Status }),
  hints: { readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  async run(call, { session_id: id }) {
    assertNames(call, id);
    await assertExists(call);
    const { conversation } = call;
    await conversation.interrupt();
    const turn = await newestTurn(call);
    const status = turn === null ? "complete" : ((await conversation.turn(turn))?.state ?? "interrupted");
    return { text: [`The newest answer is ${status}.`], structured: { session_id: conversation.id, status } };
  },
});

const DECIDE = tool({
  name: "decide",
  title: "Decide a pending action",
  description:
    "Approves or denies a call that waits for a decision, and returns the rest of the answer. Ask the user first.",
  input: z.object({
    session_id: SessionId,
    action_id: z.string().describe("Id of a pending action of the kind approval"),
    decision: z.enum(["approve", "deny"]),
    wait_seconds: WaitSeconds,
  }),
  output: Answer,
  hints: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  async run(call, { session_id: id, action_id: action, decision, wait_seconds: seconds }, progress) {
    assertNames(call, id);
    const { conversation } = call;
    const begin = async (): Promise<StartedTurn> => {
      await assertOfApp(call);
      const { pending_actions: pending, messages } = await conversation.snapshot();
      const found = pending.find((one) => one.id === action);
      if (found === undefined) throw notPending();
      if (found.kind !== "approval") throw notAnApproval(found);
      const calling = messages.find(({ tool_calls: made = [] }) =>
        made.some((one) => one.id === found.call_id),
      );
      if (calling?.turn === undefined) throw new Error("No message has the call of an action");
      await conversation.decide(action, { decision, result: null });
      return { turn: calling.turn, start: null };
    };
    return await answered(call, begin, { seconds, progress });
  },
});

const TOOLS = [START, SEND, GET, LIST, SEARCH, INTERRUPT];

export function addTools(server: McpServer, call: Call): void {
  for (const { name, config, run } of call.allowDecisions ? [...TOOLS, DECIDE] : TOOLS)
    server.registerTool(name, config, async (input, context): Promise<CallToolResult> => {
      try {
        const { text, structured, files = [] } = await run(call, input, progressOf(call, context));
        const texts = text.map((one) => ({ type: "text" as const, text: one }));
        return { content: [...texts, ...linksFor(call, files)], structuredContent: structured };
      } catch (error) {
        return failed(call, name, error);
      }
    });
}

/** Idempotency key of the first message of a conversation with a client-chosen id. */
const FIRST_MESSAGE = "mcp start_conversation";

interface ToolResult {
  /** Texts for models of hosts that ignore structured content. */
  readonly text: readonly string[];
  readonly structured: Record<string, unknown>;
  /** Files to link; absent for none. */
  readonly files?: readonly LinkedFile[];
}

interface ToolOptions<Input extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  readonly output: z.ZodObject;
  readonly hints: Readonly<Record<string, boolean>>;
  run(call: Call, input: z.output<Input>, progress: Progress): Promise<ToolResult>;
}

interface Tool {
  readonly name: string;
  readonly config: {
    readonly title: string;
    readonly description: string;
    readonly inputSchema: StandardSchemaWithJSON;
    readonly outputSchema: StandardSchemaWithJSON;
    readonly annotations: Readonly<Record<string, boolean>>;
  };
  /** Runs the tool with validated input. */
  run(call: Call, input: unknown, progress: Progress): Promise<ToolResult>;
}

function tool<Input extends z.ZodObject>(options: ToolOptions<Input>): Tool {
  const { name, input, output, hints, run, ...texts } = options;
  const schemas = { inputSchema: portable(input), outputSchema: portable(output) };
  const config = { ...texts, ...schemas, annotations: hints };
  return { name, config, run: (call, sent, progress) => run(call, sent as z.output<Input>, progress) };
}

function progressOf({ acceptsStream }: Call, { mcpReq }: ServerContext): Progress {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined || !acceptsStream) return new Progress(null);
  return new Progress((progress, message) =>
    mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, message } }),
  );
}

/** Returns an error result with a text for the host's model. Logs errors that are not `ServiceError`s. */
function failed({ request, context }: Call, tool: string, error: unknown): CallToolResult {
  const request_id = request.id;
  const isOwn = error instanceof ServiceError;
  if (!isOwn) context.logger.error({ err: error, request_id, tool }, "an MCP tool failed");
  const { status, code, detail, headers } = isOwn ? error : INTERNAL;
  const retry = headers["retry-after"] ?? headers["Retry-After"];
  const advice = retry === undefined ? "" : ` Try again in ${retry} seconds.`;
  return {
    isError: true,
    content: [{ type: "text", text: `${detail}${advice} (${code}, request ${request_id})` }],
    _meta: { "colloquy/error": { status, code, request_id } },
  };
}

const INTERNAL = new ServiceError(500, "internal_error", "The service failed. Try again.");

async function answered(
  call: Call,
  begin: () => Promise<StartedTurn>,
  {
    seconds = WAIT_SECONDS,
    progress,
  }: { readonly seconds?: number | undefined; readonly progress: Progress },
): Promise<ToolResult> {
  const { conversation } = call;
  const turn = await waitForTurn(conversation, begin, { seconds, progress });
  const answer = await readAnswer(conversation, turn);
  const text = cut(answer.text, TEXT_MAX);
  const files = answer.files.slice(-FILES_MAX);
  const structured = {
    session_id: conversation.id,
    message_id: answer.userMessage.id,
    status: answer.status,
    text,
    is_cut: text !== answer.text || files.length < answer.files.length,
    ...(files.length > 0 && { files }),
    pending_actions: answer.pending.map(pendingAction),
    ...(answer.failure !== null && {
      error: { code: answer.failure.code, message: answer.failure.reason ?? "The answer failed." },
    }),
  };
  const summary = summaryOf(conversation.id, { ...answer, files });
  return { text: [...(text === "" ? [] : [text]), summary], structured, files };
}

/** Returns session id, status, error, files and pending actions as lines for a model. */
function summaryOf(session: string, { status, pending, failure, files }: TurnAnswer): string {
  return [
    `session_id: ${session}`,
    `status: ${status}`,
    ...(failure === null ? [] : [`error: ${failure.reason ?? failure.code}`]),
    ...files.map(lineOf),
    ...pending.map((action) => `pending action: ${JSON.stringify(pendingAction(action))}`),
  ].join("\n");
}

function pendingAction({ id, kind, tool, request, expires_at }: PendingAction) {
  return { id, kind, tool, request, expires_at };
}

async function newestTurn(call: Call): Promise<number | null> {
  await assertOfApp(call);
  return newestIn(await call.conversation.snapshot());
}

/** Returns the number of the newest turn; `null` without messages. */
function newestIn({ messages }: Snapshot): number | null {
  return messages.at(-1)?.turn ?? null;
}

async function conversationResult(
  call: Call,
  limit: number,
  before: string | undefined,
): Promise<ToolResult> {
  const { conversation } = call;
  await assertOfApp(call);
  const snapshot = await conversation.snapshot();
  const end =
    before === undefined ? snapshot.messages.length : snapshot.messages.findIndex(({ id }) => id === before);
  if (end < 0) throw new NotFound("message_not_found", "No message of this conversation has the id before.");
  const number = newestIn(snapshot);
  const newest = number === null ? null : await conversation.turn(number, snapshot);
  const newestMessages = newestWithin(snapshot.messages.slice(Math.max(0, end - limit), end));
  const shown = withFiles(newestMessages, conversation.id);
  const messages = shown.map(({ id, sender, content, status, created_at, tool_calls = [], files }) => ({
    id,
    role: sender === "user" ? "user" : "assistant",
    text: content,
    status,
    created_at,
    tools: tool_calls.map(({ name }) => name),
    ...(files.length > 0 && { files }),
  }));
  const structured = {
    session_id: conversation.id,
    title: snapshot.title,
    status: newest?.state ?? "complete",
    messages,
    has_earlier: end > shown.length,
    pending_actions: snapshot.pending_actions.map(pendingAction),
  };
  const head = [
    `# ${snapshot.title}`,
    `session_id: ${conversation.id}`,
    `status: ${structured.status}`,
    ...structured.pending_actions.map((action) => `pending action: ${JSON.stringify(action)}`),
  ].join("\n");
  return {
    text: [`${head}\n\n${markdownOf(shown.map(fromMessage))}`],
    structured,
    files: shown.flatMap(({ files }) => files),
  };
}

type WithLinks = Message & { readonly files: readonly LinkedFile[] };

/** Adds the links of the newest `FILES_MAX` files to their messages. */
function withFiles(messages: readonly Message[], session: string): readonly WithLinks[] {
  let left = FILES_MAX;
  const linked = messages.toReversed().map((message) => {
    const all = filesOf(message, session);
    const files = all.slice(Math.max(0, all.length - left));
    left -= files.length;
    return { ...message, files };
  });
  return linked.toReversed();
}

/** Returns the newest messages that together have at most `TEXT_MAX` characters. Truncates the newest one to fit. */
function newestWithin<Shown extends { readonly content: string }>(
  messages: readonly Shown[],
): readonly Shown[] {
  const shown: Shown[] = [];
  let left = TEXT_MAX;
  for (const message of messages.toReversed()) {
    if (shown.length > 0 && message.content.length > left) break;
    shown.unshift({ ...message, content: cut(message.content, left) });
    left -= message.content.length;
  }
  return shown;
}

/** Throws `ServiceError` 404 if the conversation does not exist: sending to it would create it. */
async function assertExists({ app, conversation }: Call): Promise<void> {
  const position = await conversation.position();
  if (position === null || (position.boundApp ?? app) !== app) throw unknownSession();
}

/** Throws `InvalidRequest` for a malformed session id: the route has replaced it by a new one. */
function assertNames({ conversation }: Call, id: string): void {
  const parsed = parseSessionId(id);
  if (parsed === null) throw notAnId("session_id");
  if (parsed !== conversation.id) throw unknownSession();
}

function notAnId(name: string): InvalidRequest {
  return new InvalidRequest("parameter_invalid", `The argument "${name}" must be a UUID.`);
}

function nobody(): InvalidRequest {
  const detail =
    'Lists require a user or a wallet. Send the token of a user or the argument "public_key", or keep the session_id of each conversation.';
  return new InvalidRequest("user_missing", detail);
}

function nobodySearches(): InvalidRequest {
  const detail =
    'Only signed-in users search all of their conversations. Send the token of a user, or the argument "session_id".';
  return new InvalidRequest("user_missing", detail);
}

function notPending(): NotFound {
  return new NotFound(
    "action_not_found",
    "No action with this id is pending. Call get_conversation to list the pending actions.",
  );
}

function notAnApproval({ kind }: PendingAction): InvalidRequest {
  const detail = `The action has the kind ${kind}. This tool decides only actions of the kind approval.`;
  return new InvalidRequest("action_kind_invalid", detail);
}
