// What `colloquy chat` is told, and what it needs before the first word: a service, a session. The rest is in conversation.ts, for a person at
// a terminal, and in answer-once.ts, for one question.

import { type ClientOptions, createClient } from "@colloquy/client";
import { parseSessionId } from "@colloquy/protocol";
import type { Command } from "commander";
import { homedir } from "node:os";
import { formatProblems } from "../../config/problem.ts";
import { parsePublicKey } from "../../core/wallet.ts";
import { CommandFailure, type CommandParts, type ExitCode, type LocalService } from "../command.ts";
import { RememberedThreads, threadsFile } from "./remembered-threads.ts";
import { baseUrl, explainedAt } from "../service-url.ts";
import { answerOnce } from "./answer-once.ts";
import { Conversation } from "./conversation.ts";
import { chosenSession, type ChatPlace, localServiceName } from "./chat-place.ts";
import { readPiped } from "./piped-text.ts";

interface ChatOptions {
  readonly url?: string;
  readonly app?: string;
  readonly session?: string;
  readonly model?: string;
  readonly wallet?: string;
  readonly json?: boolean;
}

const HELP = `
Examples:
  colloquy chat                                     a conversation; /help says what can be typed
  colloquy chat "what is 12 * 7?"                   one answer, on the standard output
  git diff | colloquy chat "what does this change?"
  colloquy chat --url https://chat.example.com --app defi
  colloquy chat --json "count to 5"                 one line of JSON for each event

Without --url it is the service that is configured here: the one that runs, else one that is started for this conversation alone. The key
of an App is taken from the environment variable COLLOQUY_APP_KEY. Ctrl-C stops the answer; where nothing is being answered, it leaves.
Exits with 0 when all was answered, with 1 when an answer failed or waits for a person, with 2 when the arguments are wrong, with 130
when Ctrl-C ended it.`;

export function addChatCommand(
  program: Command,
  parts: CommandParts,
  finish: (code: ExitCode) => void,
): void {
  program
    .command("chat")
    .description("talk with the assistant in the terminal, or ask it one thing")
    .argument("[question]", "ask only this; what is piped into the command stands behind it")
    .option("--url <url>", "a service elsewhere")
    .option("--app <name>", "the App to talk to")
    .option("--session <id>", "go on with this conversation")
    .option("--model <rig>", "the model to answer with")
    .option("--wallet <address>", "bind this wallet; /threads then lists its conversations")
    .option("--json", "print the events, one JSON line each; needs a question")
    .addHelpText("after", HELP)
    .action(async (question: string | undefined, options: ChatOptions) =>
      finish(await chat(parts, question ?? null, options)),
    );
}

async function chat(parts: CommandParts, argument: string | null, options: ChatOptions): Promise<ExitCode> {
  const { stdin, stdout } = parts.host;
  const checked = checkedOptions(options);
  const question = await questionOf(parts, argument);
  if (question === null && options.json === true) {
    throw new CommandFailure('Colloquy: --json needs a question: colloquy chat --json "…".', 2);
  }
  if (question === null && !(stdin.isTTY && stdout.isTTY)) {
    throw new CommandFailure(
      'Colloquy: There is no terminal to talk in. Ask one thing: colloquy chat "…".',
      2,
    );
  }
  const { service, name } = await openService(parts, options.url);
  try {
    const offered = { ...clientOptions(parts, options), baseUrl: service.url };
    await reach(offered);
    const client = createClient(offered);
    const place: ChatPlace = {
      client,
      serviceName: name,
      threads: new RememberedThreads(threadsFile(parts.environment, homedir())),
      publicKey: checked.publicKey,
    };
    const session = await chosenSession(place, checked.sessionId, options.model ?? null);
    return question === null
      ? await new Conversation(parts, place, session, service.isInside).run()
      : await answerOnce(parts, place, session, question, options.json ?? false);
  } finally {
    await service.stop();
  }
}

function checkedOptions({ session, wallet }: ChatOptions) {
  const sessionId = session === undefined ? null : parseSessionId(session);
  if (session !== undefined && sessionId === null) {
    throw new CommandFailure(`Colloquy: --session: ${session} is no session id.`, 2);
  }
  const publicKey = wallet === undefined ? null : parsePublicKey(wallet);
  if (wallet !== undefined && publicKey === null) {
    throw new CommandFailure("Colloquy: --wallet: That is no wallet address.", 2);
  }
  return { sessionId, publicKey };
}

/** What is asked on the command line, what is piped in, or one behind the other; `null` for a conversation. */
async function questionOf({ host }: CommandParts, argument: string | null): Promise<string | null> {
  const piped = host.stdin.isTTY ? "" : await readPiped(host.stdin);
  const question = [argument ?? "", piped].filter((text) => text.trim() !== "").join("\n\n");
  if (question !== "") return question;
  if (argument === null && host.stdin.isTTY) return null;
  throw new CommandFailure("Colloquy: There is nothing to ask: the question is empty.", 2);
}

function clientOptions({ environment }: CommandParts, { app }: ChatOptions): ClientOptions {
  const key = environment["COLLOQUY_APP_KEY"]?.trim() ?? "";
  return { ...(app !== undefined && { app }), ...(key !== "" && { key }) };
}

/** Whether a Colloquy is there that takes the key: said at once, and not after many tries. */
async function reach(options: ClientOptions & { readonly baseUrl: string }): Promise<void> {
  try {
    await createClient({ ...options, retries: 0 }).listModels();
  } catch (error) {
    throw explainedAt(options.baseUrl, error);
  }
}

async function openService(
  parts: CommandParts,
  url: string | undefined,
): Promise<{ readonly service: LocalService; readonly name: string }> {
  if (url !== undefined) {
    const address = baseUrl(url);
    const service = { url: address, isInside: false, stop: () => Promise.resolve() };
    return { service, name: address };
  }
  const [loaded, { openLocalService }] = await Promise.all([parts.loadConfig(), parts.localServices()]);
  if (!loaded.ok) throw new CommandFailure(formatProblems(loaded.problems), 2);
  const { config } = loaded;
  const onFatal = (error: Error): never => {
    throw error;
  };
  const service = await openLocalService(config, { onFatal, processId: parts.host.pid });
  return { service, name: localServiceName(config) };
}
