// `colloquy seed`: adds sample conversations for developing clients and the console.

import { randomUUID } from "node:crypto";
import { type Client, createClient, type Decision } from "@colloquy/client";
import { type Command, InvalidArgumentError } from "commander";
import { CommandFailure, type CommandParts, configuration, printLine } from "./command.ts";

interface SeedOptions {
  readonly count: number;
  readonly wallet?: string;
}

/** A sample conversation with the demo model. `decision` settles the approval that its messages request. */
interface Sample {
  readonly title: string;
  readonly messages: readonly string[];
  readonly decision?: Decision;
  readonly isPinned?: boolean;
}

const MODEL = "demo/assistant";
const MAX_COUNT = 1_000;
const CONCURRENCY = 8;
const WAIT_MS = 30_000;

const SAMPLES: readonly Sample[] = [
  { title: "A first look", messages: ["Hello", "What tools do you have?"], isPinned: true },
  { title: "Invoice total", messages: ["What is 1,249.90 * 1.19?", "And 1,487.38 / 12?"] },
  { title: "Tea for the meeting", messages: ["Order 6 cups of tea"], decision: { decision: "approve" } },
  { title: "Tea, cancelled", messages: ["Order 40 cups of tea"], decision: { decision: "deny" } },
  { title: "Tea, waiting for you", messages: ["Order 2 cups of tea"] },
  { title: "Meeting across time zones", messages: ["What time is it in Tokyo?", "And in São Paulo?"] },
  {
    title: "Release notes",
    messages: [
      "## Release 2.4\n\n| Change | Owner |\n|---|---|\n| faster start | Mina |\n| new search | João |\n\n- [x] tests\n- [ ] docs\n\n```ts\nexport const ready = true;\n```\n\nMake this shorter.",
    ],
  },
  { title: "رحلة إلى القاهرة", messages: ["أريد السفر إلى القاهرة يوم الأحد الساعة 10:30. ما رأيك؟"] },
  { title: "週末の計画", messages: ["週末に京都へ行きます。**「清水寺」**は混みますか?"] },
  { title: "How it thinks", messages: ["Think about the sea", "Cite a source"] },
  { title: "A long answer", messages: ["Count to 120"] },
  {
    title: "Many short messages",
    messages: Array.from({ length: 12 }, (_, index) => `What is ${index + 2} * 7?`),
  },
];

export function addSeedCommand(program: Command, parts: CommandParts): void {
  program
    .command("seed")
    .description("add sample conversations with the demo model for client development")
    .option("--count <count>", `number of conversations, at most ${MAX_COUNT}`, parseCount, SAMPLES.length)
    .option("--wallet <key>", "bind the conversations to this wallet, so that clients can list them")
    .addHelpText(
      "after",
      `
Examples:
  colloquy seed
  colloquy seed --count 48 --wallet 0x52908400098527886E0F7030069857D2E4169EE7

Uses the running server, or starts one temporarily. Sends no requests to model providers.`,
    )
    .action((options: SeedOptions) => seed(parts, options));
}

function parseCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MAX_COUNT) return count;
  throw new InvalidArgumentError(`Give a number from 1 to ${MAX_COUNT}.`);
}

async function seed(parts: CommandParts, { count, wallet }: SeedOptions): Promise<void> {
  const [config, { openLocalService }] = await Promise.all([configuration(parts), parts.localServices()]);
  if (config.apps["default"]?.models.includes(MODEL) !== true) {
    const remedy = `Add "${MODEL}" to its models, or seed a service of its own with COLLOQUY_DATA_DIR.`;
    throw new CommandFailure(`Colloquy: The App "default" does not offer ${MODEL}. ${remedy}`, 2);
  }
  const service = await openLocalService(config, parts.host.pid);
  try {
    const client = createClient({ baseUrl: service.url });
    const samples = Array.from({ length: count }, (_, index) => sampleOf(index));
    for (let first = 0; first < count; first += CONCURRENCY) {
      const some = samples.slice(first, first + CONCURRENCY);
      const ids = await Promise.all(some.map((sample) => converse(client, sample, wallet)));
      for (const [index, { title }] of some.entries()) printLine(parts, `${ids[index] ?? ""}  ${title}`);
    }
    printLine(parts, "\nTo open one in the console, add /#/chat/ and its id to the address of the service.");
  } finally {
    await service.stop();
  }
}

/** Returns the sample for an index. Repeated samples get numbered titles. */
function sampleOf(index: number): Sample {
  const round = Math.floor(index / SAMPLES.length) + 1;
  const sample = SAMPLES[index % SAMPLES.length] as Sample;
  return round === 1 ? sample : { ...sample, title: `${sample.title} (${round})` };
}

/** Creates a session from a sample and returns its id. */
async function converse(client: Client, sample: Sample, publicKey: string | undefined): Promise<string> {
  const id = randomUUID();
  const session = client.session(id);
  for (const message of sample.messages) {
    const wallet = publicKey === undefined ? {} : { publicKey };
    await session.send(message, { rig: MODEL, wait: WAIT_MS, ...wallet });
  }
  const [action] = sample.decision === undefined ? [] : await client.listActions(id);
  if (action !== undefined && sample.decision !== undefined)
    await client.decideAction(id, action.id, sample.decision);
  await session.rename(sample.title);
  if (sample.isPinned === true) await client.pinThread(id);
  return id;
}
