import { type Client, createClient, visibleJson } from "@colloquy/client";
import type { ApproverAction } from "@colloquy/protocol";
import { type Command, InvalidArgumentError } from "commander";
import { serviceUrl } from "./admin-api.ts";
import { clientOptions } from "./chat/open-service.ts";
import {
  CommandFailure,
  type CommandParts,
  describeConnectionError,
  printJson,
  printLine,
  readKey,
} from "./command.ts";
import { harmlessLine } from "./terminal-text.ts";

interface ServiceOptions {
  readonly url?: string;
  readonly app?: string;
  readonly json?: boolean;
}

type Verdict = "approve" | "deny";

const OUTCOMES: Readonly<Record<Verdict, string>> = { approve: "Approved", deny: "Denied" };
/** Default limit of a list. */
const LISTED = 50;
/** Maximum actions per request. */
const PAGE = 50;
const ID = "0b8f3c1e-7d24-4f5a-9c36-e1a2b3c4d5f6";

export function addApprovalsCommand(program: Command, parts: CommandParts): void {
  const approvals = program
    .command("approvals")
    .description("list and decide calls of tools that wait for an approver")
    .addHelpText(
      "after",
      `
Examples:
  colloquy approvals list --app support
  colloquy approvals approve ${ID}
  colloquy approvals deny ${ID} --comment "Over the limit."

Asks the running service, with the approver's sign-in token in the environment variable COLLOQUY_TOKEN.`,
    );
  atService(approvals.command("list").description("list what you may decide, oldest first"))
    .option("--app <name>", "the App; default without it")
    .option("--limit <count>", "maximum number of calls", parseLimit, LISTED)
    .option("--json", "print one JSON document")
    .addHelpText("after", "\nExample:\n  colloquy approvals list --app support --json")
    .action(async ({ limit, ...options }: ServiceOptions & { readonly limit: number }) => {
      const { actions, hasMore } = await asApprover(parts, options, (client) => pending(client, limit));
      if (options.json === true) return printJson(parts, actions);
      if (actions.length === 0) return printLine(parts, "Nothing waits for your approval.");
      for (const action of actions) describe(parts, action);
      if (hasMore) parts.errors.write("More calls wait: decide these, or use --limit.\n");
    });
  addDecision(approvals, parts, "approve", "run a call with the input that the list shows");
  addDecision(approvals, parts, "deny", "refuse a call");
}

function addDecision(approvals: Command, parts: CommandParts, decision: Verdict, description: string): void {
  atService(approvals.command(decision).description(description))
    .argument("<id>", "id of the call in the list", parseId)
    .option("--comment <text>", "shown to the user; the model receives it with a denial")
    .option("--json", "print one JSON document")
    .addHelpText("after", `\nExample:\n  colloquy approvals ${decision} ${ID}`)
    .action(async (id: string, { comment, ...options }: ServiceOptions & { readonly comment?: string }) => {
      const judgement = { decision, ...(comment !== undefined && { comment }) };
      const action = await asApprover(parts, options, (client) => client.decideApproval(id, judgement));
      if (options.json === true) return printJson(parts, action);
      printLine(parts, `${OUTCOMES[decision]}: ${harmlessLine(`${action.tool} in ${action.app}`)}.`);
    });
}

function atService(command: Command): Command {
  return command.option("--url <url>", "URL of a remote service, in place of the one that runs here");
}

async function asApprover<Result>(
  parts: CommandParts,
  options: ServiceOptions,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  if (readKey(parts, "COLLOQUY_TOKEN") === "")
    throw new CommandFailure("Colloquy: Set COLLOQUY_TOKEN to the sign-in token of an approver.", 2);
  const url = await serviceUrl(parts, options.url);
  try {
    return await work(createClient({ ...clientOptions(parts, options), baseUrl: url, retries: 1 }));
  } catch (error) {
    throw describeConnectionError(url, error);
  }
}

/** Returns the oldest pending actions, at most `most`. */
async function pending(client: Client, most: number) {
  const actions: ApproverAction[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.listApprovals({ limit: Math.min(PAGE, most - actions.length), cursor });
    actions.push(...page.actions);
    if (page.next === null || actions.length >= most) return { actions, hasMore: page.next !== null };
    cursor = page.next;
  }
}

/** Prints an action. The input is complete: it is what an approval runs. */
function describe(parts: CommandParts, { id, app, tool, title, input, ...times }: ApproverAction): void {
  const name = title === null ? tool : `${title} (${tool})`;
  const until = `requested ${times.created_at}, counts as denied after ${times.expires_at}`;
  printLine(parts, `${harmlessLine(id)}  ${harmlessLine(`${name} in ${app}`)}`);
  printLine(parts, `  ${harmlessLine(until)}`);
  printLine(parts, visibleJson(input, 2).replaceAll(/^/gm, "  "));
}

function parseId(text: string): string {
  if (/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)) return text;
  throw new InvalidArgumentError("It is not the id of a call.");
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (/^\d{1,9}$/.test(text) && limit >= 1) return limit;
  throw new InvalidArgumentError("It must be a whole number from 1.");
}
