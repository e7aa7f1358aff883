import { openPage, type Page } from "./harness.tsx";
import { createClient, type Action } from "@colloquy/client";
import { version as domVersion } from "react-dom";
import { renderToString } from "react-dom/server";
import { useEffect, version, type ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  ColloquyProvider,
  useColloquy,
  useNotices,
  usePendingActions,
  useReasoning,
  useSession,
  useThreads,
  type PendingActions,
  type ReasoningView,
  type SessionView,
  type Threads,
} from "../src/index.ts";

const ID = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";
const OTHER = "00000000-0000-4000-8000-000000000001";
const WALLET = "0x52908400098527886e0f7030069857d2e4169ee7";

let page: Page;
/** The latest value and the number of renders of each component. */
let seen: Map<string, { readonly value: unknown; readonly renders: number }>;

beforeEach(async () => {
  page = await openPage();
  seen = new Map();
});
afterEach(async () => {
  await page.stop();
});

/** Renders nothing; records the result of a hook. */
function Probe({ name, hook }: { readonly name: string; readonly hook: () => unknown }): ReactNode {
  const value = hook();
  useEffect(() => {
    const before = seen.get(name);
    if (before?.value !== value) seen.set(name, { value, renders: (before?.renders ?? 0) + 1 });
  });
  return null;
}

const valueOf = (name: string): unknown => seen.get(name)?.value;
const session = (name = "session"): SessionView => valueOf(name) as SessionView;
const asked = (): PendingActions => valueOf("actions") as PendingActions;
const content = (name = "session"): string =>
  session(name)
    .snapshot?.messages.map((message) => message.content)
    .join("|") ?? "";
const probe = (name: string, hook: () => unknown): ReactNode => <Probe key={name} name={name} hook={hook} />;
const shownSession = (name = "session", id = ID): ReactNode => probe(name, () => useSession(id));

/** Sends a message and waits for its answer. */
async function talk(id: string, text: string): Promise<void> {
  const sending = page.direct.sendMessage(id, text, { wait: true });
  (await page.model.next()).say("Yes.").finish();
  await sending;
}

it("runs on the requested version of React", () => {
  const wanted = process.env["TEST_REACT"] ?? "19";
  expect([version, domVersion].map((text) => text.split(".")[0])).toEqual([wanted, wanted]);
});

describe("useReasoning", () => {
  it("loads the reasoning of an answer on request, and reports failures", async () => {
    const sending = page.direct.sendMessage(ID, "Hi", { wait: true });
    (await page.model.next())
      .emit(
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "A greeting." },
        { type: "reasoning-end", id: "r" },
      )
      .say("Hello")
      .finish();
    const { messages } = await sending;
    const id = messages[1]!.id;
    const view = (): ReasoningView => valueOf("reasoning") as ReasoningView;
    const { rerender } = page.show([shownSession(), probe("reasoning", () => useReasoning(ID, id))]);
    await page.until(() => session().connection.state === "live");
    expect(view()).toMatchObject({ reasoning: null, error: null });
    await view().load();
    await page.until(() => view().reasoning !== null);
    expect(view().reasoning).toEqual([{ step: 1, text: "A greeting." }]);
    rerender([shownSession(), probe("reasoning", () => useReasoning(ID, OTHER))]);
    expect(view()).toMatchObject({ reasoning: null, error: null });
    rerender([shownSession(), probe("reasoning", () => useReasoning(ID, id))]);
    await page.direct.deleteThread(ID);
    await view().load();
    await page.until(() => view().error !== null);
    expect(view()).toMatchObject({ reasoning: null, error: { status: 404 } });
  });
});

describe("useSession", () => {
  it("shows an answer as it grows", async () => {
    page.show(shownSession());
    await page.until(() => session().connection.state === "live");
    const sending = page.direct.sendMessage(ID, "Hi", { wait: true });
    const call = await page.model.next();
    call.say("Hel");
    await page.until(() => content() === "Hi|Hel");
    call.say("lo").finish();
    await page.until(() => content() === "Hi|Hello");
    await sending;
    await page.until(() => session().snapshot?.title === "Hi" && !session().snapshot?.is_processing);
    expect(session().snapshot).toEqual(await page.direct.getState(ID));
  });

  it("opens one stream for all components, even in strict mode and with ids in different case", async () => {
    page.show([shownSession("one"), shownSession("two", ID.toUpperCase()), shownSession("three")]);
    await page.until(() => session("one").connection.state === "live");
    expect(session("one").session).toBe(session("two").session);
    expect(session("three").snapshot).toBe(session("one").snapshot);
    expect(page.proxy.streams).toBe(1);
    expect([page.asked("GET /api/state"), page.asked("GET /api/updates")]).toEqual([1, 1]);
  });

  it("keeps the stream while one component remains, and closes it after the last one", async () => {
    const { rerender, unmount } = page.show([shownSession("one"), shownSession("two")]);
    await page.until(() => session("one").connection.state === "live");
    rerender([shownSession("two")]);
    await talk(ID, "Hi");
    await page.until(() => content("two") === "Hi|Yes.");
    // Another component replaces it in the same tick.
    rerender([shownSession("three")]);
    await page.until(() => content("three") === "Hi|Yes.");
    await talk(ID, "Again");
    await page.until(() => content("three") === "Hi|Yes.|Again|Yes.");
    expect(page.asked("GET /api/updates")).toBe(1);
    unmount();
    await page.until(() => page.proxy.streams === 0);
  });

  it("returns the known snapshot at once to a remounted component", async () => {
    await talk(ID, "Hi");
    const { rerender } = page.show(shownSession());
    await page.until(() => content() === "Hi|Yes.");
    rerender(shownSession("other", OTHER));
    await page.until(() => session("other").connection.state === "live" && page.proxy.streams === 1);
    seen.clear();
    rerender(shownSession());
    expect(content()).toBe("Hi|Yes.");
    await page.until(() => session().connection.state === "live" && page.proxy.streams === 1);
  });

  it("resumes after a broken connection", async () => {
    page.show(shownSession());
    await page.until(() => session().connection.state === "live");
    page.proxy.plan = () => "refuse";
    page.proxy.cut();
    await page.until(() => session().connection.state === "waiting");
    expect(session().connection.error?.code).toBe("network_failed");
    await talk(ID, "Hi");
    page.proxy.plan = () => null;
    page.wake();
    await page.until(() => content() === "Hi|Yes.");
  });

  it("reports a refusal, and retries for a new component", async () => {
    page.proxy.plan = () => ({
      status: 401,
      body: JSON.stringify({ code: "app_key_invalid", detail: "No." }),
    });
    const { rerender } = page.show([shownSession("one")]);
    await page.until(() => session("one").connection.state === "failed");
    expect(session("one").connection.error).toMatchObject({ code: "app_key_invalid", status: 401 });
    page.proxy.plan = () => null;
    rerender([shownSession("one"), shownSession("two")]);
    await page.until(() => session("one").connection.state === "live");
    expect(page.proxy.streams).toBe(1);
  });

  it("does not render again without a change", async () => {
    const { rerender } = page.show([shownSession(), probe("actions", () => usePendingActions(ID))]);
    await page.until(() => session().connection.state === "live");
    const { renders } = seen.get("session")!;
    const actions = seen.get("actions")!;
    rerender([shownSession(), probe("actions", () => usePendingActions(ID))]);
    expect(seen.get("session")!.renders).toBe(renders);
    await talk(ID, "Hi");
    await page.until(() => content() === "Hi|Yes.");
    expect(seen.get("actions")).toBe(actions);
  });
});

describe("usePendingActions", () => {
  async function ask(): Promise<PendingActions> {
    page.show([shownSession(), probe("actions", () => usePendingActions(ID))]);
    await page.until(() => session().connection.state === "live");
    await page.direct.sendMessage(ID, "6 * 7?");
    (await page.model.next()).callTool("calculator", { expression: "6 * 7" }).finish("tool-calls");
    await page.until(() => asked().actions.length === 1);
    return asked();
  }

  it.each([
    ["approve", "complete"],
    ["deny", "failed"],
  ] as const)("returns the pending action and sends %s", async (decision, status) => {
    const { actions, ...decide } = await ask();
    const [action] = actions;
    expect(action).toMatchObject({ kind: "approval", tool: "calculator" });
    const decided: Action = await decide[decision](action!.id);
    expect(decided.id).toBe(action!.id);
    await page.until(() => asked().actions.length === 0);
    (await page.model.next()).say("Done").finish();
    await page.until(() => session().snapshot?.is_processing === false);
    expect(session().snapshot?.messages[1]?.tool_calls).toMatchObject([{ status }]);
  });

  it("throws when the service refuses", async () => {
    const { actions, approve, deny } = await ask();
    await approve(actions[0]!.id);
    await expect(deny(actions[0]!.id)).rejects.toMatchObject({ status: 409 });
  });
});

describe("useNotices", () => {
  it("returns the reason of a failed answer", async () => {
    page.show([shownSession(), probe("notices", () => useNotices(ID))]);
    await page.until(() => session().connection.state === "live");
    expect(valueOf("notices")).toEqual([]);
    await page.direct.sendMessage(ID, "Hi");
    (await page.model.next()).fail(new Error("broken"));
    await page.until(() => (valueOf("notices") as readonly unknown[]).length === 1);
    expect(valueOf("notices")).toMatchObject([{ level: "error", code: "model_error" }]);
  });
});

const threads = (): Threads => valueOf("threads") as Threads;
const titles = (): string =>
  threads()
    .threads.map(({ title }) => title)
    .join();
const shownThreads = (): ReactNode => probe("threads", () => useThreads());

describe("useThreads with a wallet", () => {
  /** Creates threads of the wallet with these titles, the last one the newest. */
  async function begin(...names: string[]): Promise<string[]> {
    const ids = names.map(() => crypto.randomUUID() as string);
    for (const [at, id] of ids.entries()) {
      await page.direct.createSession(id, { publicKey: WALLET });
      await page.direct.renameThread(id, names[at]!);
    }
    return ids;
  }

  it("returns the newest threads, and more on request", async () => {
    await begin("A", "B", "C", "D", "E");
    page.show(shownThreads(), { publicKey: WALLET, pageSize: 2 });
    expect(threads()).toMatchObject({ threads: [], isLoading: true });
    await page.until(() => titles() === "E,D");
    expect(threads()).toMatchObject({ isLoading: false, hasMore: true, error: null });
    await threads().loadMore();
    await threads().loadMore();
    await page.until(() => titles() === "E,D,C,B,A");
    expect(threads().hasMore).toBe(false);
    const known = threads();
    await threads().refresh();
    expect(threads().threads).toBe(known.threads);
  });

  it("renames a thread, changes its metadata and removes it", async () => {
    const [first] = await begin("A", "B");
    page.show(shownThreads(), { publicKey: WALLET });
    await page.until(() => titles() === "B,A");
    await threads().rename(first!, "Z");
    await page.until(() => titles() === "Z,B" || titles() === "B,Z");
    await threads().changeMetadata(first!, { project: "tea" });
    const shown = () => threads().threads.find(({ session_id }) => session_id === first);
    await page.until(() => shown()?.metadata?.["project"] === "tea");
    await threads().remove(first!);
    await page.until(() => titles() === "B");
    await expect(page.direct.getSession(first!)).rejects.toMatchObject({ status: 404 });
    await expect(threads().rename(first!, "Y")).rejects.toMatchObject({ status: 404 });
    await threads().remove(first!);
  });

  it("copies a thread up to a message, and lists the copy", async () => {
    const [first] = await begin("A", "B");
    const sent = page.direct.sendMessage(first!, "Hi", { wait: 10 });
    (await page.model.next()).say("Hello").finish();
    const [question] = (await sent).messages;
    page.show(shownThreads(), { publicKey: WALLET });
    await page.until(() => titles() === "A,B");
    const copy = await threads().fork(first!, { through: question!.id });
    await page.until(() => titles() === "A,A,B");
    const { messages } = await page.direct.getState(copy.session_id);
    expect(messages[0]).toMatchObject({ content: question!.content, created_at: question!.created_at });
    const unknown = { through: crypto.randomUUID() };
    await expect(threads().fork(first!, unknown)).rejects.toMatchObject({ code: "message_not_found" });
  });

  /** Returns a client whose pin requests wait for `release` and then get `refusal`, if given. */
  function holdingPins(refusal: Response | null = null) {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    const holding: typeof fetch = async (input, init) => {
      if (init?.method !== "PUT") return await fetch(input, init);
      await promise;
      return refusal ?? (await fetch(input, init));
    };
    return { client: page.client({ fetch: holding }), release };
  }

  it("pins and unpins before the service has answered", async () => {
    const [first] = await begin("A", "B");
    const { client, release } = holdingPins();
    page.show(shownThreads(), { publicKey: WALLET, client });
    await page.until(() => titles() === "B,A");
    const pinning = threads().pin(first!);
    await page.until(() => titles() === "A,B");
    expect((await page.direct.getSession(first!)).pinned).toBe(false);
    release();
    await pinning;
    expect((await page.direct.getSession(first!)).pinned).toBe(true);
    await threads().refresh();
    expect(threads().threads).toMatchObject([
      { title: "A", pinned: true },
      { title: "B", pinned: false },
    ]);
    await threads().unpin(first!);
    await page.until(() => titles() === "B,A");
    expect((await page.direct.getSession(first!)).pinned).toBe(false);
  });

  it("moves a thread back if the service refuses to pin it", async () => {
    const [first] = await begin("A", "B");
    const refusal = Response.json({ code: "app_forbidden", detail: "No." }, { status: 403 });
    const { client, release } = holdingPins(refusal);
    page.show(shownThreads(), { publicKey: WALLET, client });
    await page.until(() => titles() === "B,A");
    const pinning = threads().pin(first!);
    await page.until(() => titles() === "A,B");
    release();
    await expect(pinning).rejects.toMatchObject({ status: 403 });
    await page.until(() => titles() === "B,A");
  });

  it("follows shown sessions: titles, new messages, deletion elsewhere", async () => {
    const [first] = await begin("A", "B");
    page.show([shownThreads(), shownSession("session", first)], { publicKey: WALLET });
    await page.until(() => titles() === "B,A" && session().connection.state === "live");
    const asked = page.asked("GET /api/sessions");
    await page.direct.renameThread(first!, "Elsewhere");
    await page.until(() => titles() === "B,Elsewhere");
    expect(page.asked("GET /api/sessions")).toBe(asked);
    await talk(first!, "Hi");
    await page.until(() => titles() === "Elsewhere,B");
    await page.direct.deleteThread(first!);
    await page.until(() => titles() === "B");
  });

  it("adds a conversation that starts here", async () => {
    page.show([shownThreads(), shownSession()], { publicKey: WALLET });
    await page.until(() => session().connection.state === "live" && !threads().isLoading);
    const sending = session().session.send("Hi", { publicKey: WALLET });
    (await page.model.next()).say("Yes.").finish();
    await sending;
    await page.until(() => titles() === "Hi");
    expect(threads().threads).toMatchObject([{ session_id: ID, title: "Hi" }]);
  });

  it("keeps a thread whose deletion a proxy answered with 404", async () => {
    await begin("A");
    page.show(shownThreads(), { publicKey: WALLET });
    await page.until(() => titles() === "A");
    const id = threads().threads[0]!.session_id;
    page.proxy.plan = ({ method }) =>
      method === "DELETE" ? { status: 404, body: "default backend - 404" } : null;
    await expect(threads().remove(id)).rejects.toMatchObject({ code: "http_error", status: 404 });
    expect(titles()).toBe("A");
    page.proxy.plan = () => null;
    await threads().remove(id);
    expect(titles()).toBe("");
  });

  it("reports a failed fetch and keeps the known list", async () => {
    await begin("A");
    page.show(shownThreads(), { publicKey: WALLET });
    await page.until(() => titles() === "A");
    page.proxy.plan = () => ({ status: 403, body: JSON.stringify({ code: "listing_off", detail: "No." }) });
    await threads().refresh();
    await page.until(() => threads().error !== null);
    expect(threads()).toMatchObject({ isLoading: false, error: { code: "listing_off" } });
    expect(titles()).toBe("A");
    page.proxy.plan = () => null;
    await threads().refresh();
    await page.until(() => threads().error === null);
  });
});

describe("useSession with the option messages", () => {
  it("loads the latest messages, and earlier ones on request", async () => {
    for (const text of ["One", "Two", "Three"]) await talk(ID, text);
    page.show([shownSession(), shownSession("other")], { messages: 2 });
    await page.until(() => content() === "Three|Yes.");
    expect([session().hasEarlier, session().snapshot?.messages_before]).toEqual([true, 4]);
    const { loadEarlier } = session();
    await loadEarlier();
    await page.until(() => content("other") === "Two|Yes.|Three|Yes.");
    expect(session().loadEarlier).toBe(loadEarlier);
    await loadEarlier(100);
    await page.until(() => content() === "One|Yes.|Two|Yes.|Three|Yes.");
    expect(session().hasEarlier).toBe(false);
  });
});

describe("during server rendering", () => {
  it("returns the values of an absent session and sends no request", () => {
    const client = createClient({
      fetch: () => {
        throw new Error("A server asks nothing");
      },
    });
    function Title(): ReactNode {
      const { snapshot, connection } = useSession(ID);
      const { client: own } = useColloquy();
      return `${snapshot?.title ?? "nothing"} ${connection.state} ${useThreads().threads.length} ${own === client}`;
    }
    const html = renderToString(
      <ColloquyProvider client={client}>
        <Title />
      </ColloquyProvider>,
    );
    expect(html).toBe("nothing idle 0 true");
  });

  it("throws an error that names the missing provider", () => {
    function Lost(): ReactNode {
      return useSession(ID).snapshot?.title;
    }
    expect(() => renderToString(<Lost />)).toThrow("ColloquyProvider");
  });
});
