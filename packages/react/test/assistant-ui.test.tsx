import { openPage, type Page } from "./harness.tsx";
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadListItemPrimitive,
  ThreadListPrimitive,
  ThreadPrimitive,
  useAui,
  useAuiState,
  type DataMessagePartProps,
  type TextMessagePartProps,
  type ToolCallMessagePartProps,
} from "@assistant-ui/react";
import { fireEvent, screen } from "@testing-library/react";
import { tool } from "ai";
import { Profiler, type ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { Hidden } from "../../server/src/core/hidden.ts";
import {
  NOTICE_PART,
  useColloquyRuntime,
  type ColloquyRuntimeOptions,
  type ToolArtifact,
} from "../src/assistant-ui/index.ts";
import { memoryThreads, type Notice } from "../src/index.ts";

const ID = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";

let page: Page;
/** What was on its way, and what became of it. */
let sent: string[];
let errors: { readonly message: string; readonly text: string | null }[];
/** Each message that was rendered, as often as it was. */
let rendered: string[];
/** Ends the tool `walk`. */
let arrive: () => void;

beforeEach(async () => {
  const arrived = Promise.withResolvers<void>();
  arrive = arrived.resolve;
  const walk = tool({
    description: "Walks",
    inputSchema: z.object({ to: z.string() }),
    async *execute({ to }) {
      // What was yielded is progress as soon as something comes after it.
      yield { steps: 7 };
      yield { steps: 8 };
      await arrived.promise;
      yield `At ${to}`;
    },
  });
  const currency = { symbol: "ETH", decimals: 18 };
  const rpcURL = new Hidden("http://127.0.0.1:1");
  page = await openPage({
    builtIn: ["calculator", "ask_user"],
    own: { walk },
    wallet: { chains: [{ id: 1, name: "Ethereum", rpcURL, currency, contracts: null }] },
  });
  errors = [];
  sent = [];
  rendered = [];
});
afterEach(async () => {
  await page.stop();
});

function Text({ text, status }: TextMessagePartProps): ReactNode {
  return <p data-status={status.type}>{text}</p>;
}

function NoticeLine({ data }: DataMessagePartProps<Notice>): ReactNode {
  return <small>{data.code}</small>;
}

function Tool(props: ToolCallMessagePartProps): ReactNode {
  const { toolName, argsText, result, isError, status, approval, interrupt, respondToApproval, resume } =
    props;
  const { progress, action, status: own, duration_ms } = props.artifact as ToolArtifact;
  const isFailed = String(isError ?? false);
  return (
    <fieldset
      aria-label={toolName}
      data-status={status.type}
      data-own={own}
      data-error={isFailed}
      data-took={duration_ms}
    >
      <code>{argsText}</code>
      <output>{result === undefined ? "" : JSON.stringify(result)}</output>
      <i>{progress === null ? "" : JSON.stringify(progress)}</i>
      <b>{action?.kind}</b>
      {approval?.options?.map(({ id, label }) => (
        <button key={id} onClick={() => void respondToApproval({ optionId: id })}>
          {label}
        </button>
      ))}
      {approval && (
        <>
          <em>{approval.prompt}</em>
          <button onClick={() => void respondToApproval({ approved: true }).catch(() => undefined)}>
            Approve
          </button>
          <button onClick={() => void respondToApproval({ approved: false })}>Deny</button>
          <button onClick={() => void respondToApproval({ text: "Neither", approved: true })}>Answer</button>
        </>
      )}
      {interrupt && (
        <>
          <button onClick={() => resume({ decision: "deny" })}>Refuse</button>
          <button onClick={() => mistaken(() => resume({ signature: "0x" }))}>Mistake</button>
        </>
      )}
    </fieldset>
  );
}

/** What a program is told that calls it wrong. */
function mistaken(call: () => void): void {
  try {
    call();
  } catch (error) {
    errors.push({ message: (error as Error).message, text: null });
  }
}

function Message(): ReactNode {
  // All of it, so that a message is rendered again when it is another object.
  const { id, role, status } = useAuiState((state) => state.message);
  const reason = status?.type === "incomplete" ? JSON.stringify(status.error ?? status.reason) : "";
  return (
    <Profiler id={id} onRender={() => void rendered.push(id)}>
      <MessagePrimitive.Root data-role={role} data-status={status?.type} data-reason={reason}>
        <MessagePrimitive.Parts
          components={{ Text, tools: { Fallback: Tool }, data: { by_name: { [NOTICE_PART]: NoticeLine } } }}
        />
      </MessagePrimitive.Root>
    </Profiler>
  );
}

/** Sends what waits behind the answer in progress, and does not go before it. */
function Later(): ReactNode {
  const aui = useAui();
  return <button onClick={() => aui.composer().send({ steer: false })}>Later</button>;
}

function ThreadRow(): ReactNode {
  const aui = useAui();
  const id = useAuiState((state) => state.threadListItem.id);
  return (
    <ThreadListItemPrimitive.Root data-thread={id}>
      <ThreadListItemPrimitive.Trigger>
        <ThreadListItemPrimitive.Title />
      </ThreadListItemPrimitive.Trigger>
      <button onClick={() => aui.threadListItem().rename("Renamed")}>Rename</button>
      <ThreadListItemPrimitive.Delete>Delete</ThreadListItemPrimitive.Delete>
    </ThreadListItemPrimitive.Root>
  );
}

function Chat(options: ColloquyRuntimeOptions): ReactNode {
  const runtime = useColloquyRuntime({
    ...options,
    onSend: (text, arrival) => {
      sent.push(`${text} leaves`);
      const note = (end: string) => () => void sent.push(`${text} ${end}`);
      arrival.then(note("arrives"), note("is lost"));
    },
    onError: ({ message }, { text }) => void errors.push({ message, text }),
  });
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <nav>
        <ThreadListPrimitive.New>New thread</ThreadListPrimitive.New>
        <ThreadListPrimitive.Items components={{ ThreadListItem: ThreadRow }} />
      </nav>
      <ThreadPrimitive.Root>
        <main>
          <ThreadPrimitive.Messages components={{ Message }} />
        </main>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <Later />
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

const until = (condition: () => boolean): Promise<void> => page.until(condition);
const button = (name: string): HTMLButtonElement =>
  [...document.querySelectorAll("button")].find(({ textContent }) => textContent === name)!;
const click = (name: string): void => void fireEvent.click(button(name));
const messages = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("main > div")];
const shown = (): string[] => messages().map((message) => message.querySelector("p")?.textContent ?? "");
const group = (name: string): HTMLElement => document.querySelector(`fieldset[aria-label="${name}"]`)!;
/** What an element of the tool call shows; `undefined` before the call is there. */
const within = (name: string, element: string): string | undefined =>
  document.querySelector(`fieldset[aria-label="${name}"] ${element}`)?.textContent ?? undefined;
const threads = (): string[] =>
  [...document.querySelectorAll<HTMLElement>("[data-thread]")].map(
    (row) => row.querySelector("button")?.textContent ?? "",
  );

async function say(text: string, through = "Send"): Promise<void> {
  const input = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });
  fireEvent.change(input, { target: { value: text } });
  await until(() => !button("Send").disabled);
  click(through);
}

const isLive = (): Promise<void> => until(() => page.proxy.streams === 1);

describe("a thread", () => {
  it("shows an answer as it grows, and renders the growing message alone", async () => {
    page.show(<Chat sessionId={ID} sendOptions={{ userState: { place: "home" } }} />);
    await isLive();
    await say("Hi");
    const call = await page.model.next();
    call.say("Hel");
    await until(() => shown().join("|") === "Hi|Hel");
    expect(messages()[1]!.dataset["status"]).toBe("running");
    expect(messages()[1]!.querySelector("p")!.dataset["status"]).toBe("running");
    rendered = [];
    const [user] = messages();
    call.say("lo");
    await until(() => shown().join("|") === "Hi|Hello");
    expect(messages()[0]).toBe(user);
    expect(new Set(rendered).size).toBe(1);
    call.finish();
    await until(() => messages()[1]!.dataset["status"] === "complete");
    expect(sent).toEqual(["Hi leaves", "Hi arrives"]);
    expect((await page.direct.getState(ID)).user_state).toEqual({ place: "home" });
  });

  it("has the newest messages alone when it is asked for so many, and the others as soon as more are wanted", async () => {
    const { rerender } = page.show(<Chat sessionId={ID} newest={2} />);
    await isLive();
    for (const text of ["One", "Two"]) {
      await say(text);
      (await page.model.next()).say(`${text} it is`).finish();
      await until(() => shown().join("|") === `${text}|${text} it is`);
    }
    rerender(<Chat sessionId={ID} newest={3} />);
    await until(() => shown().join("|") === "One it is|Two|Two it is");
    rerender(<Chat sessionId={ID} newest={0} />);
    await until(() => shown().length === 0);
    rerender(<Chat sessionId={ID} />);
    await until(() => shown().length === 4);
    expect(shown()).toEqual(["One", "One it is", "Two", "Two it is"]);
  });
});

describe("a tool call", () => {
  it("is shown with its input, its progress and its result", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Walk home");
    (await page.model.next()).say("I go.").callTool("walk", { to: "home" }).finish("tool-calls");
    await until(() => within("walk", "i") === '{"steps":7}');
    const call = group("walk");
    expect(within("walk", "code")).toBe('{"to":"home"}');
    expect(call.dataset).toMatchObject({ status: "running", own: "running", error: "false" });
    expect(call.dataset["took"]).toBeUndefined();
    arrive();
    await until(() => call.dataset["own"] === "complete");
    expect(call.dataset["took"]).toMatch(/^\d+$/);
    expect(call.dataset).toMatchObject({ status: "complete", error: "false" });
    expect(within("walk", "output")).toBe('"At home"');
    expect(within("walk", "i")).toBe("");
    (await page.model.next()).say(" I am there.").finish();
    await until(() => messages()[1]!.dataset["status"] === "complete");
    const parts = [...messages()[1]!.children].map(
      (part) => part.getAttribute("aria-label") ?? part.textContent,
    );
    expect(parts).toEqual(["I go.", "walk", " I am there."]);
  });

  it("that is stopped has no progress any more", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Walk home");
    (await page.model.next()).callTool("walk", { to: "home" }).finish("tool-calls");
    await until(() => within("walk", "i") === '{"steps":7}');
    click("Stop");
    await until(() => messages()[1]!.dataset["status"] === "incomplete");
    expect(within("walk", "i")).toBe("");
  });

  it("that fails is an error", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Walk");
    (await page.model.next()).callTool("walk", { to: 5 }).finish("tool-calls");
    (await page.model.next()).say("No.").finish();
    await until(() => messages()[1]?.dataset["status"] === "complete");
    expect(group("walk").dataset).toMatchObject({ own: "failed", error: "true" });
    expect(within("walk", "output")).toContain("to");
  });
});

describe("what the assistant asks", () => {
  async function askFor(name: string, input: unknown): Promise<void> {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Do it");
    (await page.model.next()).callTool(name, input).finish("tool-calls");
    await until(() => (within(name, "b") ?? "") !== "");
    expect(messages()[1]!.dataset["status"]).toBe("requires-action");
  }

  async function outcomeOf(name: string): Promise<string> {
    await until(() => within(name, "output") !== "");
    expect(group(name).querySelector("button")).toBeNull();
    expect(errors).toEqual([]);
    return within(name, "output") ?? "";
  }

  it("is approved", async () => {
    await askFor("calculator", { expression: "6 * 7" });
    click("Approve");
    expect(await outcomeOf("calculator")).toContain("42");
  });

  it("is denied", async () => {
    await askFor("calculator", { expression: "6 * 7" });
    click("Deny");
    expect(await outcomeOf("calculator")).not.toContain("42");
    expect(group("calculator").dataset["error"]).toBe("true");
  });

  it("is answered by a choice", async () => {
    await askFor("ask_user", { question: "Tea or coffee?", choices: ["Tea", "Coffee"] });
    expect(within("ask_user", "em")).toBe("Tea or coffee?");
    click("Coffee");
    expect(await outcomeOf("ask_user")).toContain("Coffee");
  });

  it("is answered in words of one's own", async () => {
    await askFor("ask_user", { question: "Tea or coffee?", choices: ["Tea", "Coffee"] });
    click("Answer");
    expect(await outcomeOf("ask_user")).toContain("Neither");
  });

  it("of a wallet is decided by what the interrupt is resumed with", async () => {
    const typed_data = {
      types: {
        EIP712Domain: [{ name: "chainId", type: "uint256" }],
        Note: [{ name: "text", type: "string" }],
      },
      primaryType: "Note",
      domain: { chainId: 1 },
      message: { text: "Hello" },
    };
    await askFor("wallet_request_signature", { typed_data });
    expect(within("wallet_request_signature", "b")).toBe("wallet_signature");
    click("Mistake");
    expect(errors.splice(0)).toMatchObject([
      { message: expect.stringContaining("{ decision, result }") as string },
    ]);
    click("Refuse");
    await outcomeOf("wallet_request_signature");
    expect(group("wallet_request_signature").dataset["error"]).toBe("true");
  });

  it("and somebody else has decided is reported", async () => {
    await askFor("calculator", { expression: "6 * 7" });
    const [action] = (await page.direct.getState(ID)).pending_actions;
    page.proxy.plan = ({ path }) => (path.startsWith("/api/actions/") ? { status: 409, body: "{}" } : null);
    click("Approve");
    await until(() => errors.length === 1);
    expect(errors[0]!.text).toBeNull();
    page.proxy.plan = () => null;
    await page.direct.decideAction(ID, action!.id, { decision: "deny" });
    await until(() => group("calculator").dataset["error"] === "true");
    expect(group("calculator").querySelector("button")).toBeNull();
  });
});

describe("the composer", () => {
  it("stops the answer in progress", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Count");
    (await page.model.next()).say("One");
    await until(() => shown()[1] === "One");
    click("Stop");
    await until(() => messages()[1]!.dataset["status"] === "incomplete");
    expect(messages()[1]!.dataset["reason"]).toBe('"cancelled"');
    expect(shown()).toEqual(["Count", "One"]);
    expect((await page.direct.getState(ID)).is_processing).toBe(false);
  });

  it("takes a message while the assistant works: the service holds it", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("First");
    const first = await page.model.next();
    first.say("One");
    await until(() => shown()[1] === "One");
    await say("Second");
    await until(() => shown()[2] === "Second");
    await say("Third", "Later");
    await until(() => sent.includes("Third arrives"));
    first.finish();
    (await page.model.next()).say("Two").finish();
    (await page.model.next()).say("Three").finish();
    await until(() => messages()[5]?.dataset["status"] === "complete");
    expect(shown()).toEqual(["First", "One", "Second", "Third", "Two", "Three"]);
  });

  it("gives a message back that was not sent", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    page.proxy.plan = ({ path }) =>
      path === "/api/chat"
        ? { status: 403, body: JSON.stringify({ detail: "Not you.", code: "app_forbidden" }) }
        : null;
    await say("Hi");
    await until(() => errors.length === 1);
    expect(errors).toEqual([{ message: "Not you.", text: "Hi" }]);
    expect(sent).toEqual(["Hi leaves", "Hi is lost"]);
    await until(() => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" }).value === "Hi");
    expect(messages()).toEqual([]);
  });
});

describe("what goes wrong", () => {
  it("stands on the answer that failed", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Hi");
    (await page.model.next()).say("Hel").fail(new Error("broken"));
    await until(() => messages()[1]?.dataset["status"] === "incomplete");
    await until(() => messages()[1]!.dataset["reason"] !== '"The assistant could not finish this answer."');
    const { system_events } = await page.direct.getState(ID);
    expect(system_events.map(({ type }) => type)).toEqual(["error"]);
    expect(messages()[1]!.dataset["reason"]).toBe(JSON.stringify(system_events[0]!.payload["message"]));
    expect(messages()[1]!.querySelector("small")).toBeNull();
  });

  it("and was only told stands on the message that it came with", async () => {
    await page.direct.createSession(ID, { publicKey: "0xabc" });
    page.show(<Chat sessionId={ID} />, { publicKey: "0xdef" });
    await isLive();
    await say("Hi");
    (await page.model.next()).say("Hello").finish();
    await until(() => messages()[1]?.dataset["status"] === "complete");
    await until(() => document.querySelector("small") !== null);
    expect(document.querySelector("small")!.textContent).toBe("wallet_differs");
  });
});

describe("the list of threads", () => {
  const entry = (id: string, title: string, at: string) => ({ session_id: id, title, updated_at: at });
  const OTHER = "00000000-0000-4000-8000-000000000001";

  it("shows what the page remembers, switches, renames and deletes", async () => {
    await page.direct.sendMessage(OTHER, "Old");
    (await page.model.next()).say("Older").finish();
    const storage = memoryThreads([entry(OTHER, "Another", "2026-01-01T00:00:00.000Z")]);
    page.show(<Chat />, { storage });
    await isLive();
    expect(threads()).toEqual(["Another"]);
    await say("Hi");
    (await page.model.next()).say("Hello").finish();
    await until(() => threads().join() === "Hi,Another");
    fireEvent.click(button("Another"));
    await until(() => shown().join() === "Old,Older");
    await until(() => page.proxy.streams === 1);
    const row = document.querySelector(`[data-thread="${OTHER}"]`)!;
    fireEvent.click(row.querySelectorAll("button")[1]!);
    await until(() => threads().includes("Renamed"));
    expect((await page.direct.getSession(OTHER)).title).toBe("Renamed");
    fireEvent.click(document.querySelector(`[data-thread="${OTHER}"]`)!.querySelectorAll("button")[2]!);
    await until(() => threads().join() === "Hi");
    await until(() => messages().length === 0);
    await expect(page.direct.getSession(OTHER)).rejects.toMatchObject({ status: 404 });
    expect(storage.read().map(({ title }) => title)).toEqual(["Hi"]);
  });

  it("begins a new thread, and tells which one is shown", async () => {
    const shownIds: string[] = [];
    page.show(<Chat onSessionChange={(id) => void shownIds.push(id)} />);
    await isLive();
    await say("Hi");
    (await page.model.next()).say("Hello").finish();
    await until(() => shown().join() === "Hi,Hello" && threads().length === 1);
    click("New thread");
    await until(() => messages().length === 0);
    expect(shownIds).toHaveLength(1);
    await say("Again");
    (await page.model.next()).say("Yes").finish();
    await until(() => shown().join() === "Again,Yes");
    expect((await page.direct.getState(shownIds[0]!)).messages[0]!.content).toBe("Again");
    await until(() => threads().length === 2);
    // To delete another one than is shown leads nowhere.
    const other = threads().indexOf("Hi");
    fireEvent.click(document.querySelectorAll("[data-thread]")[other]!.querySelectorAll("button")[2]!);
    await until(() => threads().join() === "Again");
    expect([shown().join(), shownIds.length]).toEqual(["Again,Yes", 1]);
  });
});
