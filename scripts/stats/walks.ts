// Which source files a service executes for one chat, one event and one approved tool call.

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const MAIN = join(import.meta.dirname, "../../packages/server/src/main.ts");
const HOOK = join(import.meta.dirname, "executed-functions.ts");
const CONFIG = {
  apps: {
    default: {
      models: ["demo/assistant"],
      tools: ["calculator"],
      approvals: { calculator: "always" },
    },
  },
};

export type Walk = "chat" | "event" | "approved tool call";

/** The files of each walk, as paths below `packages/`. */
export async function measureWalks(): Promise<Readonly<Record<Walk, readonly string[]>>> {
  const directory = await mkdtemp(join(tmpdir(), "colloquy-stats-"));
  const service = await MeasuredService.start(directory);
  try {
    // Whatever is loaded with its first use is loaded here.
    await measure(service);
    return await measure(service);
  } finally {
    await service.stop();
    await rm(directory, { recursive: true });
  }
}

async function measure(service: MeasuredService): Promise<Readonly<Record<Walk, readonly string[]>>> {
  const session = randomUUID();
  await service.send("POST", `/api/sessions?session_id=${session}`, session).catch(() => null);
  const events = await EventStream.open(service.url, session);
  await events.untilIdle(() => service.send("POST", "/api/chat?message=Hello", session));

  // From the request to the last event of the answer, at a subscriber.
  const chat = await service.filesOf(() =>
    events.untilIdle(() => service.send("POST", "/api/chat?message=Hello", session)),
  );

  // A subscriber connects and gets an event.
  const { lastId } = events;
  await events.until(
    () => service.send("PATCH", `/api/sessions/${session}`, session, { title: "Walks" }),
    (event) => event["type"] === "title_changed",
  );
  let resumed: EventStream | null = null;
  const event = await service.filesOf(async () => {
    resumed = await EventStream.open(service.url, session, lastId);
    await resumed.until(
      async () => undefined,
      ({ type }) => type === "title_changed",
    );
  });
  (resumed as EventStream | null)?.close();

  // From the decision to the last event of the answer.
  const asked = await events.until(
    () => service.send("POST", `/api/chat?message=${encodeURIComponent("what is 12 * 7?")}`, session),
    ({ code }) => code === "action_requested",
  );
  const actions = (await service.send("GET", "/api/actions", session)) as readonly { readonly id: string }[];
  const action = actions[0]?.id ?? String(asked["type"]);
  const approved = await service.filesOf(() =>
    events.untilIdle(() => service.send("POST", `/api/actions/${action}`, session, { decision: "approve" })),
  );
  events.close();
  return { chat, event, "approved tool call": approved };
}

class MeasuredService {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#process = child;
  }

  static async start(directory: string): Promise<MeasuredService> {
    await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(CONFIG));
    const child = spawn(process.execPath, [`--import=${HOOK}`, MAIN], {
      cwd: directory,
      env: {
        PATH: process.env["PATH"],
        HOST: "127.0.0.1",
        PORT: "0",
        COLLOQUY_DATA_DIR: join(directory, "data"),
      },
      stdio: ["ignore", "pipe", "inherit", "ipc"],
    });
    const { stdout } = child;
    if (stdout === null) throw new Error("The service has no output.");
    for await (const line of createInterface({ input: stdout })) {
      const address = /"address":"([^"]+)"/.exec(line)?.[1];
      if (address === undefined) continue;
      stdout.resume();
      return new MeasuredService(address, child);
    }
    throw new Error("The service did not start.");
  }

  async send(method: string, path: string, session: string, body?: object): Promise<unknown> {
    const response = await fetch(this.url + path, {
      method,
      headers: { "X-Session-Id": session, ...(body !== undefined && { "Content-Type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as unknown;
  }

  /** Returns the files that have executed a function while `work` was under way. */
  async filesOf(work: () => Promise<unknown>): Promise<readonly string[]> {
    await this.#take();
    await work();
    return await this.#take();
  }

  async #take(): Promise<readonly string[]> {
    const answer = once(this.#process, "message");
    this.#process.send("take");
    const [files] = (await answer) as [readonly string[]];
    return files.toSorted();
  }

  async stop(): Promise<void> {
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}

type ReadEvent = Readonly<Record<string, unknown>>;

class EventStream {
  lastId = "";
  readonly #lines: AsyncIterator<string>;
  readonly #stop: AbortController;

  private constructor(body: AsyncIterable<string>, stop: AbortController) {
    this.#lines = linesOf(body)[Symbol.asyncIterator]();
    this.#stop = stop;
  }

  static async open(url: string, session: string, after = ""): Promise<EventStream> {
    const stop = new AbortController();
    const { body } = await fetch(`${url}/api/updates?include=tools,messages,state`, {
      headers: { "X-Session-Id": session, ...(after !== "" && { "Last-Event-ID": after }) },
      signal: stop.signal,
    });
    if (body === null) throw new Error("The event stream has no body.");
    return new EventStream(body.pipeThrough(new TextDecoderStream()), stop);
  }

  /** Starts `work`, and returns the first event from now on that `isIt`. */
  async until(work: () => Promise<unknown>, isIt: (event: ReadEvent) => boolean): Promise<ReadEvent> {
    await work();
    for (;;) {
      const { done, value } = await this.#lines.next();
      if (done === true) throw new Error("The event stream has ended.");
      if (value.startsWith("id:")) this.lastId = value.slice(3).trim();
      if (!value.startsWith("data:")) continue;
      const event = JSON.parse(value.slice(5)) as ReadEvent;
      if (isIt(event)) return event;
    }
  }

  untilIdle(work: () => Promise<unknown>): Promise<ReadEvent> {
    return this.until(work, (event) => event["type"] === "state_changed" && event["status"] === "idle");
  }

  close(): void {
    this.#stop.abort();
  }
}

async function* linesOf(text: AsyncIterable<string>): AsyncIterable<string> {
  let buffer = "";
  for await (const chunk of text) {
    buffer += chunk;
    const lines = buffer.split("\n");
    buffer = lines.pop() ?? "";
    yield* lines;
  }
}
