// What each family of providers demands of the conversation in a request body, as its API reference and its
// errors say. Each returns the broken rules; an empty list for a conversation that the provider accepts.

type Body = Readonly<Record<string, unknown>>;
/** The fields of all families' messages and of their parts. */
interface Item {
  readonly type?: string;
  readonly role?: string;
  readonly content?: string | readonly Item[];
  readonly parts?: readonly Item[];
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly tool_calls?: readonly Item[];
  readonly function?: Item;
  readonly tool_call_id?: string;
  readonly tool_use_id?: string;
  readonly call_id?: string;
  readonly arguments?: unknown;
  readonly input?: unknown;
  readonly args?: unknown;
  readonly reasoning_content?: string;
  readonly encrypted_content?: string;
  readonly signature?: string;
  readonly thoughtSignature?: string;
  readonly functionCall?: Item;
  readonly functionResponse?: Item;
}

const OPENAI_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

function isBlank(text: unknown): boolean {
  return typeof text !== "string" || text.trim() === "";
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isObjectText(text: unknown): boolean {
  try {
    return typeof text === "string" && isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

function idOf({ id }: Item): string | undefined {
  return id;
}

function repeated(values: readonly (string | undefined)[]): string[] {
  return values
    .filter((value) => value !== undefined)
    .filter((value, index, all) => all.indexOf(value) !== index);
}

/**
 * Chat Completions, with the rules of the strictest models behind it: Mistral's API (ids of nine letters, no
 * user message after a tool's result) and the templates of Gemma, Mistral and Llama (roles alternate).
 */
export function compatibleProblems({ messages: all }: Body): string[] {
  const messages = all as readonly Item[];
  const problems: string[] = [];
  const turns = messages.filter(({ role }) => role !== "system");
  if (messages.slice(1).some(({ role }) => role === "system"))
    problems.push("a system message is not the first");
  if (turns[0]?.role !== "user") problems.push("the first message is not the user's");
  if (!["user", "tool"].includes(turns.at(-1)?.role ?? ""))
    problems.push("the last message is the assistant's");
  const ids = turns.flatMap(({ tool_calls: calls = [] }) => calls.map(idOf));
  for (const id of repeated(ids)) problems.push(`the call id ${id} occurs twice`);
  const lastUser = turns.findLastIndex(({ role }) => role === "user");
  let open: (string | undefined)[] = [];
  let before: Item | undefined;
  // Templates count messages of the user and answers without calls, which must take turns.
  let counted: string | undefined = "assistant";
  let hasCalls = false;
  turns.forEach((message, index) => {
    const { role, content, tool_calls: calls = [] } = message;
    if (role === "tool") {
      if (open.shift() !== message.tool_call_id) problems.push("a result is not that of the next call");
      if (typeof content !== "string") problems.push("a result is not text");
      before = message;
      return;
    }
    if (open.length > 0) problems.push("a call has no result");
    open = calls.map(idOf);
    hasCalls = role !== "user" && (hasCalls || calls.length > 0);
    if (role === "user" && before?.role === "tool") problems.push("a user message follows a result");
    if (role !== "user" && role !== "assistant") problems.push(`the role ${role} is unknown`);
    if (calls.length === 0) {
      if (isBlank(content)) problems.push(`a message of the ${role} is blank`);
      if (role === counted) problems.push("roles do not alternate");
      counted = role;
    }
    if (before?.role === "assistant" && role === "assistant") problems.push("two answers follow each other");
    for (const { id, function: called } of calls) {
      if (!/^[a-zA-Z0-9]{9}$|^functions\.[a-zA-Z0-9_-]+:\d+$/.test(id ?? ""))
        problems.push(`the call id ${id} is refused`);
      if (!OPENAI_NAME.test(called?.name ?? "")) problems.push(`the tool name ${called?.name} is refused`);
      if (!isObjectText(called?.arguments)) problems.push("arguments are not an object");
    }
    // DeepSeek and Kimi demand the reasoning of earlier turns with calls.
    if (message.reasoning_content !== undefined && index < lastUser && !hasCalls)
      problems.push("reasoning of an earlier turn without calls is sent");
    before = message;
  });
  if (open.length > 0) problems.push("a call has no result");
  return problems;
}

/** The Responses API without storage. */
export function openaiProblems({ input }: Body): string[] {
  const items = input as readonly Item[];
  const problems: string[] = [];
  const typeOf = ({ type, role }: Item): string => type ?? `a message of ${role}`;
  const turns = items.filter(({ role }) => role !== "system" && role !== "developer");
  if (turns[0]?.role !== "user") problems.push("the first message is not the user's");
  const last = turns.at(-1);
  if (last?.role !== "user" && last?.type !== "function_call_output")
    problems.push("the last item is the assistant's");
  for (const id of repeated(turns.map(idOf))) problems.push(`the item ${id} occurs twice`);
  for (const id of repeated(
    turns.map(({ type, call_id: id }) => (type === "function_call" ? id : undefined)),
  ))
    problems.push(`the call id ${id} occurs twice`);
  let open: (string | undefined)[] = [];
  turns.forEach((item, index) => {
    const { type, role, content } = item;
    const isOutput = type === "function_call_output";
    if (open.length > 0 && !isOutput && role === "user") problems.push("a call has no output");
    if (type === "item_reference") problems.push("a stored item is referred to");
    if (type === "function_call") {
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(item.call_id ?? ""))
        problems.push(`the call id ${item.call_id} is refused`);
      if (!OPENAI_NAME.test(item.name ?? "")) problems.push(`the tool name ${item.name} is refused`);
      if (!isObjectText(item.arguments)) problems.push("arguments are not an object");
      open.push(item.call_id);
    } else if (isOutput) {
      if (!open.includes(item.call_id)) problems.push("an output has no call");
      open = open.filter((id) => id !== item.call_id);
    } else if (type === "reasoning") {
      if (isBlank(item.encrypted_content)) problems.push("reasoning has no encrypted content");
      const next = turns[index + 1];
      const isFollowed =
        next !== undefined &&
        (next.type === "function_call" || next.type === "reasoning" || next.role === "assistant");
      if (!isFollowed) problems.push("reasoning is not followed by its item");
    } else if (role === "user" || role === "assistant") {
      const texts = typeof content === "string" ? [content] : (content ?? []).map(({ text }) => text);
      if (texts.length === 0 || texts.some(isBlank)) problems.push(`a message of the ${role} is blank`);
    } else problems.push(`${typeOf(item)} is unknown`);
  });
  if (open.length > 0) problems.push("a call has no output");
  return problems;
}

/** The Messages API. */
export function anthropicProblems({ messages: all, tools }: Body): string[] {
  const messages = all as readonly Item[];
  const problems: string[] = [];
  if (messages[0]?.role !== "user") problems.push("the first message is not the user's");
  if (messages.at(-1)?.role !== "user") problems.push("the last message is the assistant's");
  let open: (string | undefined)[] = [];
  const ids: (string | undefined)[] = [];
  messages.forEach(({ role, content }, index) => {
    if (messages[index - 1]?.role === role) problems.push("roles do not alternate");
    const blocks: readonly Item[] =
      typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
    if (blocks.length === 0) problems.push("a message is empty");
    const results = blocks.filter(({ type }) => type === "tool_result");
    if (role === "user") {
      if (results.map(({ tool_use_id: id }) => id).join() !== open.join())
        problems.push("the results are not those of the calls before");
      if (blocks.slice(0, results.length).some(({ type }) => type !== "tool_result"))
        problems.push("a result is not at the beginning");
    } else if (results.length > 0) problems.push("a result is in an answer");
    open = [];
    for (const block of blocks) {
      if (block.type === "text" && isBlank(block.text)) problems.push("a text block is blank");
      if (block.type === "thinking" && isBlank(block.signature)) problems.push("thinking has no signature");
      if (block.type !== "tool_use") continue;
      open.push(block.id);
      ids.push(block.id);
      if (!/^[a-zA-Z0-9_-]+$/.test(block.id ?? "")) problems.push(`the call id ${block.id} is refused`);
      if (!OPENAI_NAME.test(block.name ?? "")) problems.push(`the tool name ${block.name} is refused`);
      if (!isObject(block.input)) problems.push("arguments are not an object");
    }
    if (role === "assistant" && ["thinking", "redacted_thinking"].includes(blocks.at(-1)?.type ?? ""))
      problems.push("an answer ends with thinking");
  });
  for (const id of repeated(ids)) problems.push(`the call id ${id} occurs twice`);
  if (open.length > 0) problems.push("a call has no result");
  if (ids.length > 0 && (tools as readonly unknown[] | undefined)?.length === undefined)
    problems.push("there are calls and no tools");
  return problems;
}

/** `generateContent`. */
export function googleProblems({ contents: all }: Body): string[] {
  const contents = all as readonly Item[];
  const problems: string[] = [];
  const partsOf = (content: Item | undefined): readonly Item[] => content?.parts ?? [];
  const callsOf = (content: Item | undefined) =>
    partsOf(content).flatMap(({ functionCall }) => functionCall ?? []);
  const responsesOf = (content: Item | undefined) =>
    partsOf(content).flatMap(({ functionResponse }) => functionResponse ?? []);
  if (contents[0]?.role !== "user" || responsesOf(contents[0]).length > 0)
    problems.push("the first content is not the user's");
  if (contents.at(-1)?.role !== "user") problems.push("the last content is the model's");
  contents.forEach((content, index) => {
    if (partsOf(content).length === 0) problems.push("a content has no parts");
    const before = contents[index - 1];
    if (content.role === "model" && before?.role === "model") problems.push("two answers follow each other");
    for (const part of partsOf(content)) {
      const isData = part.functionCall !== undefined || part.functionResponse !== undefined;
      if (!isData && part.thoughtSignature === undefined && isBlank(part.text))
        problems.push("a part is blank");
    }
    for (const { name, args } of callsOf(content)) {
      if (!/^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/.test(name ?? ""))
        problems.push(`the tool name ${name} is refused`);
      if (!isObject(args)) problems.push("arguments are not an object");
    }
    const called = callsOf(before).map(({ name }) => name);
    const answered = responsesOf(content).map(({ name }) => name);
    if (called.join() !== answered.join()) problems.push("the responses are not those of the calls before");
  });
  if (callsOf(contents.at(-1)).length > 0) problems.push("a call has no response");
  return problems;
}
