// Commands that begin with a slash are handled here and not sent to the assistant.

import type { LiveSession } from "@colloquy/client";
import { parseSessionId, type Message } from "@colloquy/protocol";
import { nearestName } from "@colloquy/engine/internal/core/nearest-name";
import { isSessionNotFound } from "../command.ts";
import { harmlessLine, truncateToWidth } from "../terminal-text.ts";
import { attachFile, enteredPath } from "./attached-file.ts";
import { type ChatContext, LOADED } from "./chat-context.ts";
import type { RememberedThread } from "./remembered-threads.ts";
import type { Tone } from "./transcript.ts";

/** The conversation that a command works on. */
export interface SlashCommandTarget {
  readonly context: ChatContext;
  readonly session: LiveSession;
  /** Ids in the most recently shown list; `null` if none was shown. */
  listedIds: readonly string[] | null;
  readonly columns: number;
  say(tone: Tone | null, text: string): void;
  /** Resolves with `null` after a failure, which it shows. */
  try<Result>(request: (signal: AbortSignal) => Promise<Result>): Promise<Result | null>;
  until(condition: () => boolean): Promise<void>;
  open(session: LiveSession): Promise<void>;
  /** Ids of the files for the next message. */
  attachments: readonly string[];
  /** Sends a message with the attached files. It replaces the message `replaced`, whose files it keeps, and everything after it. */
  send(text: string, replaced?: Message): Promise<void>;
  /** Shows earlier messages. Returns false if there are none. */
  showEarlier(signal: AbortSignal): Promise<boolean>;
  leave(): void;
}

interface SlashCommand {
  readonly name: string;
  readonly parameter: string;
  readonly about: string;
  run(conversation: SlashCommandTarget, parameter: string): Promise<void> | void;
}

const COMMANDS: readonly SlashCommand[] = [
  { name: "model", parameter: "[rig]", about: "list the models, or switch to another one", run: model },
  { name: "threads", parameter: "", about: "list conversations", run: listThreads },
  { name: "search", parameter: "<words>", about: "find messages", run: searchMessages },
  { name: "open", parameter: "<number or id>", about: "continue a conversation", run: openThread },
  { name: "earlier", parameter: "", about: "show earlier messages", run: earlier },
  { name: "new", parameter: "", about: "start a new conversation", run: beginNew },
  { name: "attach", parameter: "<file>", about: "send a file with your next message", run: attach },
  { name: "edit", parameter: "<text>", about: "replace your last message", run: edit },
  { name: "again", parameter: "", about: "answer your last message again", run: again },
  { name: "fork", parameter: "", about: "continue in a copy of this conversation", run: fork },
  { name: "title", parameter: "<text>", about: "rename this conversation", run: rename },
  { name: "help", parameter: "", about: "show this list", run: help },
  {
    name: "quit",
    parameter: "",
    about: "leave; so do Ctrl-D and Ctrl-C",
    run: (conversation) => conversation.leave(),
  },
];
const LISTED = 20;
const NUMBER_WIDTH = 5;

export async function runSlashCommand(conversation: SlashCommandTarget, line: string): Promise<void> {
  const [, name = "", parameter = ""] = /^\/(\S*)\s*(.*)$/s.exec(line.trim()) ?? [];
  const command = COMMANDS.find((one) => one.name === name);
  if (command !== undefined) return await command.run(conversation, parameter);
  const names = COMMANDS.map((one) => one.name);
  const nearest = nearestName(name, names);
  const meant = nearest === null ? "Type /help for a list." : `Did you mean /${nearest}?`;
  conversation.say("warning", `Unknown command /${harmlessLine(name)}. ${meant}`);
}

async function model(conversation: SlashCommandTarget, rig: string): Promise<void> {
  const { session } = conversation;
  if (rig !== "") {
    const chosen = await conversation.try((signal) => session.setModel(rig, { signal }));
    if (chosen !== null) conversation.say("quiet", `Now using ${harmlessLine(rig)}.`);
    return;
  }
  const { client } = conversation.context;
  const models = await conversation.try((signal) => client.listModels({ sessionId: session.id, signal }));
  const current = session.getSnapshot()?.model;
  for (const name of models ?? [])
    conversation.say(null, `${name === current ? "*" : " "} ${harmlessLine(name)}`);
}

type ListedThread = Pick<RememberedThread, "session_id" | "title" | "at">;

async function threadsOf(conversation: SlashCommandTarget): Promise<readonly ListedThread[]> {
  const { publicKey, client, threads } = conversation.context;
  if (publicKey === null) return await threads.list();
  const page = await conversation.try((signal) => client.listThreads(publicKey, { limit: 200, signal }));
  return (page?.threads ?? []).map(({ session_id, title, updated_at: at }) => ({ session_id, title, at }));
}

async function listThreads(conversation: SlashCommandTarget): Promise<void> {
  const threads = await threadsOf(conversation);
  conversation.listedIds = threads.map(({ session_id: id }) => id);
  if (threads.length === 0) return conversation.say("quiet", "There are no conversations yet.");
  const columns = conversation.columns;
  for (const [index, { session_id, title, at }] of threads.slice(0, LISTED).entries()) {
    const number = String(index + 1).padStart(NUMBER_WIDTH - 2);
    const isOpen = session_id === conversation.session.id ? "*" : " ";
    const when = columns < 60 ? "" : `  ${at.slice(0, 16).replace("T", " ")}`;
    const shown = truncateToWidth(harmlessLine(title), columns - NUMBER_WIDTH - when.length - 1);
    conversation.say(null, `${number}${isOpen} ${shown}${when}`);
  }
  if (threads.length > LISTED) conversation.say("quiet", `and ${threads.length - LISTED} older ones`);
  conversation.say("quiet", "Type /open and a number to continue one.");
}

async function searchMessages(conversation: SlashCommandTarget, words: string): Promise<void> {
  if (words === "") return conversation.say("warning", "/search takes the words to look for.");
  const { session, context } = conversation;
  const page = await conversation.try((signal) =>
    context.client.search(words, { sessionId: session.id, limit: LISTED, signal }),
  );
  if (page === null) return;
  const { results } = page;
  if (results.length === 0) return conversation.say("quiet", "No message matches.");
  conversation.listedIds = results.map(({ session_id: id }) => id);
  for (const [index, { title, snippet }] of results.entries()) {
    const number = String(index + 1).padStart(NUMBER_WIDTH - 2);
    const found = snippet.map(({ text }) => text).join("");
    const shown = truncateToWidth(harmlessLine(`${title}: ${found}`), conversation.columns - NUMBER_WIDTH);
    conversation.say(null, `${number}  ${shown}`);
  }
  if (page.next_cursor !== null) conversation.say("quiet", "There are older ones: search for more words.");
  conversation.say("quiet", "Type /open and a number to continue its conversation.");
}

async function openThread(conversation: SlashCommandTarget, which: string): Promise<void> {
  const { client } = conversation.context;
  const numbered = /^\d{1,3}$/.test(which) ? await numberedId(conversation, Number(which)) : undefined;
  const id = numbered ?? parseSessionId(which);
  if (id === null) return conversation.say("warning", "/open takes a number from /threads, or a session id.");
  // Check first: opening an id that no longer exists would create a new session.
  const thread = await conversation.try((signal) =>
    client.getSession(id, { signal }).catch(async (error: unknown) => {
      if (isSessionNotFound(error)) await conversation.context.threads.forget(id);
      throw error;
    }),
  );
  if (thread !== null) await conversation.open(client.session(id, LOADED));
}

/** Resolves a number in the list on the screen, which may have changed since, or in a fresh list if none was shown. */
async function numberedId(conversation: SlashCommandTarget, number: number): Promise<string | undefined> {
  conversation.listedIds ??= (await threadsOf(conversation)).map(({ session_id: id }) => id);
  return conversation.listedIds[number - 1];
}

async function earlier(conversation: SlashCommandTarget): Promise<void> {
  const isShown = await conversation.try((signal) => conversation.showEarlier(signal));
  if (isShown === false) conversation.say("quiet", "There are no earlier messages.");
}

async function beginNew(conversation: SlashCommandTarget): Promise<void> {
  const rig = conversation.session.getSnapshot()?.model;
  const session = conversation.context.client.session(undefined, LOADED);
  await conversation.open(session);
  conversation.say("quiet", "Started a new conversation.");
  // Keep the chosen model, unless it is the default of the new session.
  if (rig !== undefined && rig !== session.getSnapshot()?.model) await model(conversation, rig);
}

async function attach(conversation: SlashCommandTarget, entry: string): Promise<void> {
  if (entry === "") return conversation.say("warning", "/attach takes the path of a file.");
  const { session } = conversation;
  const file = await conversation.try((signal) => attachFile(session, enteredPath(entry), signal));
  if (file === null) return;
  conversation.attachments = [...conversation.attachments, file.id];
  conversation.say("quiet", `${harmlessLine(file.name)} goes with your next message.`);
}

async function edit(conversation: SlashCommandTarget, text: string): Promise<void> {
  if (text === "") return conversation.say("warning", "/edit takes the new text of your last message.");
  const last = await lastMessage(conversation);
  if (last !== null) await conversation.send(text, last);
}

async function again(conversation: SlashCommandTarget): Promise<void> {
  const last = await lastMessage(conversation);
  if (last !== null) await conversation.send(last.content, last);
}

/** Returns the user's last message, or says that there is none. */
async function lastMessage(conversation: SlashCommandTarget): Promise<Message | null> {
  const { session } = conversation;
  for (;;) {
    const { messages = [], messages_before: left = 0 } = session.getSnapshot() ?? {};
    const last = messages.findLast(({ sender }) => sender === "user") ?? null;
    if (last !== null) return last;
    const loaded =
      left > 0 && (await conversation.try((signal) => session.loadEarlier({ signal }).then(() => true)));
    if (loaded === null) return null;
    if (!loaded) {
      conversation.say("quiet", "There is no message yet.");
      return null;
    }
  }
}

async function fork(conversation: SlashCommandTarget): Promise<void> {
  const { client } = conversation.context;
  const copy = await conversation.try((signal) => client.forkThread(conversation.session.id, { signal }));
  if (copy === null) return;
  await conversation.open(client.session(copy.session_id, LOADED));
  conversation.say("quiet", "This is a copy. The other conversation stays as it is.");
}

async function rename(conversation: SlashCommandTarget, title: string): Promise<void> {
  if (title === "") return conversation.say("warning", "/title takes the new name.");
  const named = await conversation.try((signal) => conversation.session.rename(title, { signal }));
  if (named === null) return;
  // Wait for the event: the list of conversations takes the title from the snapshot.
  await conversation.until(() => conversation.session.getSnapshot()?.title === named.title);
  conversation.say("quiet", `Renamed to ${harmlessLine(named.title)}.`);
}

function help(conversation: SlashCommandTarget): void {
  const isNarrow = conversation.columns < 60;
  for (const { name, parameter, about } of COMMANDS) {
    const usage = `/${name} ${parameter}`.trimEnd();
    conversation.say(null, isNarrow ? `${usage}: ${about}` : `  ${usage.padEnd(24)}${about}`);
  }
  const keys =
    "Ctrl-C stops an answer. Alt-Enter adds a line to the message; pasted lines stay in one message.";
  conversation.say("quiet", keys);
}
