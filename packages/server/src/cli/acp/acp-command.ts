// `colloquy acp`: serves an agent to an editor over standard input and output.

import { homedir } from "node:os";
import { Readable, Writable } from "node:stream";
import { createClient } from "@colloquy/client";
import type { Command } from "commander";
import { clientOptions, openService, reach } from "../chat/open-service.ts";
import { RememberedThreads, threadsFile } from "../chat/remembered-threads.ts";
import { CommandFailure, type CommandParts, type ExitCode, type HostProcess } from "../command.ts";

interface AcpOptions {
  readonly url?: string;
  readonly app?: string;
}

const HELP = `
Example:
  colloquy acp

In the settings of Zed:
  "agent_servers": { "Colloquy": { "command": "npx", "args": ["@colloquy/server", "acp"] } }

Without --url, it uses the service configured in the working directory, and starts it if it is not running. Set the key of an App in the
environment variable COLLOQUY_APP_KEY, and a user's token in COLLOQUY_TOKEN.`;

export function addAcpCommand(program: Command, parts: CommandParts, finish: (code: ExitCode) => void): void {
  program
    .command("acp")
    .description("serve conversations to an editor that speaks the Agent Client Protocol")
    .option("--url <url>", "URL of a remote service")
    .option("--app <name>", "the App to talk to")
    .addHelpText("after", HELP)
    .action(async (options: AcpOptions) => finish(await acp(parts, options)));
}

async function acp(parts: CommandParts, options: AcpOptions): Promise<ExitCode> {
  const { output, release } = reserveOutput(parts.host);
  try {
    return await serve(parts, options, output);
  } finally {
    release();
  }
}

async function serve(parts: CommandParts, options: AcpOptions, output: Writable): Promise<ExitCode> {
  const { service, name } = await openService(parts, options.url);
  try {
    const offered = { ...clientOptions(parts, options), baseUrl: service.url, reasoning: true };
    await reach(offered);
    // Imported here, so that other commands do not load the SDK.
    const [{ ndJsonStream }, { createAgent }] = await Promise.all([
      import("@agentclientprotocol/sdk"),
      import("./agent.ts"),
    ]);
    const agent = createAgent({
      client: createClient(offered),
      threads: new RememberedThreads(threadsFile(parts.environment, homedir()), name),
      isSignedIn: offered.token !== undefined,
      home: homedir(),
      version: parts.version,
      warn: (sentence) => parts.errors.write(`Warning: ${sentence}\n`),
    });
    const stream = ndJsonStream(
      Writable.toWeb(output) as WritableStream<Uint8Array>,
      Readable.toWeb(Readable.from(parts.host.stdin)) as ReadableStream<Uint8Array>,
    );
    const connection = agent.app.connect(stream);
    await connection.closed;
    await agent.settled();
    // Without a word, the editor would show only that the agent has ended.
    if ((connection.signal.reason as Error).name === "MessageTooLargeError")
      throw new CommandFailure("Colloquy: The editor sent a message of more than 32 MiB. Send smaller ones.");
    return 0;
  } finally {
    await service.stop();
  }
}

/**
 * Returns a stream to standard output. Whatever else is written there, for example by the configuration file, reaches
 * standard error until `release` is called: editors read every line as a message of the protocol.
 */
function reserveOutput({ stdout, stderr }: HostProcess): {
  readonly output: Writable;
  release(): void;
} {
  const write = stdout.write.bind(stdout);
  const output = new Writable({
    write: (chunk: Uint8Array, _encoding, done) => void write(chunk, done),
  });
  stdout.write = stderr.write.bind(stderr);
  return { output, release: () => void (stdout.write = write) };
}
