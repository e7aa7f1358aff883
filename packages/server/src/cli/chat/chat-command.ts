// `colloquy chat`: parses the options and opens the service and the session. conversation.ts handles an interactive
// terminal, answer-once.ts a single question.

import { homedir } from "node:os";
import { text } from "node:stream/consumers";
import { createClient } from "@colloquy/client";
import { parseSessionId } from "@colloquy/protocol";
import type { Command } from "commander";
import { parsePublicKey } from "@colloquy/engine/internal/core/user-state";
import { CommandFailure, type CommandParts, type ExitCode } from "../command.ts";
import { clientOptions, openService, reach } from "./open-service.ts";
import { RememberedThreads, threadsFile } from "./remembered-threads.ts";
import { withProof } from "./wallet-sign-in.ts";
import { answerOnce } from "./answer-once.ts";
import { Conversation } from "./conversation.ts";
import { chosenSession, type ChatContext } from "./chat-context.ts";

interface ChatOptions {
  readonly url?: string;
  readonly app?: string;
  readonly session?: string;
  readonly model?: string;
  readonly wallet?: string;
  readonly json?: boolean;
  readonly attach?: readonly string[];
}

const HELP = `
Examples:
  colloquy chat                                     start a conversation; /help lists the commands
  colloquy chat "what is 12 * 7?"                   print one answer
  git diff | colloquy chat "what does this change?"
  colloquy chat --attach photo.jpg "what is this?"
  colloquy chat --url https://chat.example.com --app defi
  colloquy chat --json "count to 5"                 print one line of JSON for each event

Without --url, it uses the service configured here: the running one, or one started just for this conversation. Set the key of an App in
the environment variable COLLOQUY_APP_KEY, and a user's sign-in token in COLLOQUY_TOKEN. Ctrl-C stops the answer, or leaves if there is none. Exits with 0 after an answer, with 1 if the
answer failed or waits for a decision, with 2 for wrong arguments, with 130 after Ctrl-C.`;

export function addChatCommand(
  program: Command,
  parts: CommandParts,
  finish: (code: ExitCode) => void,
): void {
  program
    .command("chat")
    .description("chat with the assistant in the terminal, or ask it one question")
    .argument("[question]", "ask only this; piped input is appended")
    .option("--url <url>", "URL of a remote service")
    .option("--app <name>", "the App to talk to")
    .option("--session <id>", "continue this conversation")
    .option("--model <rig>", "the model to answer with")
    .option("--wallet <address>", "bind this wallet; /threads then lists its conversations")
    .option("--attach <file>", "send this file with the question; repeat it for more", appended)
    .option("--json", "print the events, one JSON line each; needs a question")
    .addHelpText("after", HELP)
    .action(async (question: string | undefined, options: ChatOptions) =>
      finish(await chat(parts, question ?? null, options)),
    );
}

function appended(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

async function chat(parts: CommandParts, argument: string | null, options: ChatOptions): Promise<ExitCode> {
  const { stdin, stdout } = parts.host;
  const checked = checkedOptions(options);
  const question = await questionOf(parts, argument);
  if (question === null && options.json === true) {
    throw new CommandFailure('Colloquy: --json needs a question: colloquy chat --json "…".', 2);
  }
  if (question === null && options.attach !== undefined) {
    throw new CommandFailure("Colloquy: --attach needs a question. In a conversation, type /attach FILE.", 2);
  }
  if (question === null && !(stdin.isTTY && stdout.isTTY)) {
    const message = 'Colloquy: This is not a terminal. Ask a single question: colloquy chat "…".';
    throw new CommandFailure(message, 2);
  }
  const { service, name } = await openService(parts, options.url);
  try {
    const offered = { ...clientOptions(parts, options), baseUrl: service.url };
    await reach(offered);
    const { publicKey } = checked;
    const client = createClient(
      publicKey === null ? offered : await withProof(parts.host, offered, publicKey),
    );
    const context: ChatContext = {
      client,
      serviceName: name,
      threads: new RememberedThreads(threadsFile(parts.environment, homedir()), name),
      publicKey,
    };
    const session = await chosenSession(context, checked.sessionId, options.model ?? null);
    return question === null
      ? await new Conversation(parts, context, session, service.isInProcess).run()
      : await answerOnce(parts, context, session, question, options);
  } finally {
    await service.stop();
  }
}

function checkedOptions({ session, wallet }: ChatOptions) {
  const sessionId = session === undefined ? null : parseSessionId(session);
  if (session !== undefined && sessionId === null) {
    throw new CommandFailure(`Colloquy: --session: ${session} is not a session id.`, 2);
  }
  const publicKey = wallet === undefined ? null : parsePublicKey(wallet);
  if (wallet !== undefined && publicKey === null) {
    throw new CommandFailure("Colloquy: --wallet: That is not a wallet address.", 2);
  }
  return { sessionId, publicKey };
}

/** Returns the question from the argument, piped input, or both joined; `null` for a conversation. */
async function questionOf({ host }: CommandParts, argument: string | null): Promise<string | null> {
  const piped = host.stdin.isTTY ? "" : await readPiped(host.stdin);
  const question = [argument ?? "", piped].filter((text) => text.trim() !== "").join("\n\n");
  if (question !== "") return question;
  if (argument === null && host.stdin.isTTY) return null;
  throw new CommandFailure("Colloquy: The question is empty. Send some text.", 2);
}

/**
 * Maximum bytes of piped input. Above the service's limit for a message, and low enough to stop early at a
 * large file that was piped in by mistake.
 */
const MAX_BYTES = 1_000_000;

/** Reads all piped input and removes a trailing line end. */
async function readPiped(input: NodeJS.ReadableStream): Promise<string> {
  let length = 0;
  async function* limited(): AsyncGenerator<Buffer> {
    for await (const chunk of input) {
      const bytes = Buffer.from(chunk);
      length += bytes.length;
      if (length > MAX_BYTES)
        throw new CommandFailure("Colloquy: The piped input is longer than a message may be. Shorten it.");
      yield bytes;
    }
  }
  return (await text(limited())).replace(/\r?\n$/, "");
}
