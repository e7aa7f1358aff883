// `npm create @colloquy`: prompts for missing arguments, writes a project, and prints the next commands.

import { basename, relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { packageName, TEMPLATES, UnusableDirectory, writeProject, type Template } from "./project.ts";

const NEEDED_NODE = 24;
const NAMES = Object.keys(TEMPLATES) as readonly Template[];
const USAGE = `Usage: npm create @colloquy@latest DIRECTORY -- [--template ${NAMES.join("|")}]

Writes a new project into the directory; "." is the current one. Installs nothing.

${NAMES.map((name) => `  ${name.padEnd(9)}${TEMPLATES[name]}`).join("\n")}
`;

/** The parts of the process that the command uses. */
export interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly versions: { readonly node: string };
  cwd(): string;
}

/** A mistake in the arguments. The message says what to do. */
class WrongArguments extends Error {}
/** The person left at a question. */
class Cancelled extends Error {}

/** Runs the command. Returns the exit code: 0, 1 if the project cannot be written, or 2 for wrong arguments. */
export async function main(words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const given = parse(words);
    if (given.help) {
      terminal.stdout.write(USAGE);
      return 0;
    }
    const { directory, template } = await complete(given, terminal);
    const path = resolve(terminal.cwd(), directory);
    await writeProject(path, template, packageName(basename(path)));
    terminal.stdout.write(nextSteps(path, template, terminal));
    return 0;
  } catch (error) {
    const { message } = error as Error;
    terminal.stderr.write(`${message}\n`);
    if (error instanceof WrongArguments) return 2;
    if (error instanceof Cancelled || error instanceof UnusableDirectory) return 1;
    if ((error as NodeJS.ErrnoException).code !== undefined) return 1;
    throw error;
  }
}

interface Given {
  readonly directory: string | undefined;
  readonly template: Template | undefined;
  readonly help: boolean;
}

function parse(words: readonly string[]): Given {
  const { values, positionals } = parseWords(words);
  const [directory, ...more] = positionals;
  if (more.length > 0) throw new WrongArguments("Give one directory. `--help` shows the usage.");
  const { template, help } = values;
  if (template !== undefined && !isTemplate(template)) {
    throw new WrongArguments(`There is no template "${template}". Use ${NAMES.join(" or ")}.`);
  }
  return { directory, template, help };
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        template: { type: "string", short: "t" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new WrongArguments(`${(error as Error).message}. \`--help\` shows the usage.`);
  }
}

function isTemplate(name: string): name is Template {
  return Object.hasOwn(TEMPLATES, name);
}

/** Prompts for missing arguments if there is a terminal. */
async function complete(
  { directory, template }: Given,
  { stdin, stdout }: Terminal,
): Promise<{ readonly directory: string; readonly template: Template }> {
  const canAsk = stdin.isTTY && stdout.isTTY;
  if (!canAsk && directory === undefined) {
    throw new WrongArguments("Name a directory: npm create @colloquy@latest my-app");
  }
  if (!canAsk || (directory !== undefined && template !== undefined)) {
    return { directory: directory ?? "", template: template ?? "service" };
  }
  const questions = createInterface({ input: stdin, output: stdout });
  // Ctrl-C and Ctrl-D close the interface.
  const cancelled = new AbortController();
  questions.once("close", () => cancelled.abort());
  const ask = async (query: string): Promise<string> =>
    (await questions.question(query, { signal: cancelled.signal })).trim();
  try {
    return {
      directory: directory ?? ((await ask("Directory (my-app): ")) || "my-app"),
      template: template ?? (await askTemplate(ask)),
    };
  } catch (error) {
    throw cancelled.signal.aborted ? new Cancelled("\nNothing was written.") : error;
  } finally {
    questions.close();
  }
}

async function askTemplate(ask: (query: string) => Promise<string>): Promise<Template> {
  const list = NAMES.map((name, index) => `  ${index + 1}  ${name.padEnd(9)}${TEMPLATES[name]}\n`).join("");
  for (;;) {
    const answer = (await ask(`${list}Template (1): `)) || "1";
    const chosen = NAMES[Number(answer) - 1] ?? answer;
    if (isTemplate(chosen)) return chosen;
  }
}

function nextSteps(path: string, template: Template, { cwd, versions }: Terminal): string {
  const folder = relative(cwd(), path);
  const commands = ["npm install", "npm run dev"];
  if (folder !== "") commands.unshift(`cd ${/^[\w./-]+$/.test(folder) ? folder : JSON.stringify(folder)}`);
  const isOld = Number.parseInt(versions.node) < NEEDED_NODE;
  const warning = `The project needs Node ${NEEDED_NODE} or later, and this is Node ${versions.node}.\n`;
  const steps = commands.map((command) => `  ${command}\n`).join("");
  return `Created ${folder || "the project"} from the template "${template}". Next:\n\n${steps}\n${isOld ? warning : ""}`;
}
