import { button, click, messages, shown, threads, useChatPage } from "./chat-page.tsx";
import { Chat } from "./chat-parts.tsx";
import { fireEvent, screen } from "@testing-library/react";
import type { ReactNode } from "react";
import { describe, expect, it } from "vitest";
import type { ColloquyRuntimeOptions } from "../src/assistant-ui/index.ts";
import { memoryThreads } from "../src/index.ts";

const ID = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";

type OnSend = NonNullable<ColloquyRuntimeOptions["onSend"]>;

const page = useChatPage();
const { errors, isLive, rendered, say, sent, until } = page;

describe("a thread", () => {
  it("shows an answer while it streams, and renders only the message that changes", async () => {
    page.show(<Chat sessionId={ID} sendOptions={{ userState: { place: "home" } }} />);
    await isLive();
    await say("Hi");
    const call = await page.model.next();
    call.say("Hel");
    await until(() => shown().join("|") === "Hi|Hel");
    expect(messages()[1]!.dataset["status"]).toBe("running");
    expect(messages()[1]!.querySelector("p")!.dataset["status"]).toBe("running");
    rendered.length = 0;
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

  it("shows reasoning while it streams, also before the answer has text, and keeps it", async () => {
    const client = page.client({ reasoning: true });
    const { rerender } = page.show(<Chat sessionId={ID} newest={2} />, { client });
    await isLive();
    await say("Hi");
    const call = await page.model.next();
    call.emit({ type: "reasoning-start", id: "r" }, { type: "reasoning-delta", id: "r", delta: "A gree" });
    const reasoning = () => messages().map((message) => message.querySelector("q")?.textContent);
    await until(() => reasoning()[1] === "A gree");
    const [, answer] = messages();
    expect(answer!.dataset).toMatchObject({ role: "assistant", status: "running" });
    call.emit({ type: "reasoning-delta", id: "r", delta: "ting." }, { type: "reasoning-end", id: "r" });
    await until(() => reasoning()[1] === "A greeting.");
    call.say("Hello");
    await until(() => shown().join("|") === "Hi|Hello");
    expect(messages()[1]).toBe(answer);
    call.finish();
    await until(() => messages()[1]!.dataset["status"] === "complete");
    expect(reasoning()).toEqual([undefined, "A greeting."]);
    rerender(<Chat sessionId={ID} newest={1} />);
    await until(() => messages().length === 1);
    expect(reasoning()).toEqual(["A greeting."]);
  });

  it("uses the send options and callbacks of the latest render", async () => {
    const received: string[] = [];
    const chat = (name: string): ReactNode => (
      <Chat
        sessionId={ID}
        sendOptions={{ userState: { name } }}
        onSend={(text) => void received.push(`${text} through ${name}`)}
      />
    );
    const { rerender } = page.show(chat("one"));
    await isLive();
    rerender(chat("another"));
    await say("Hi");
    (await page.model.next()).say("Hello").finish();
    await until(() => shown().join("|") === "Hi|Hello");
    expect(received).toEqual(["Hi through another"]);
    expect((await page.direct.getState(ID)).user_state).toEqual({ name: "another" });
  });

  it("shows the requested number of newest messages", async () => {
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

describe("a thread with only the latest messages loaded", () => {
  it("omits the newest messages on request, and reloads an answer whose question is not loaded", async () => {
    const answered = page.direct.sendMessage(ID, "One", { wait: true });
    (await page.model.next()).say("One it is").finish();
    await answered;
    await page.direct.sendMessage(ID, "Two");
    (await page.model.next()).say("Two it is");
    await expect.poll(async () => (await page.direct.getState(ID)).messages.length).toBe(4);
    await page.direct.interrupt(ID);
    const { rerender } = page.show(<Chat sessionId={ID} newest={4} leftOut={2} />, { messages: 1 });
    await isLive();
    expect(shown()).toEqual([]);
    rerender(<Chat sessionId={ID} />);
    await until(() => shown().join("|") === "Two it is");
    click("Try again");
    (await page.model.next()).say("Two it is again").finish();
    await until(() => shown().at(-1) === "Two it is again");
    expect((await page.direct.getState(ID)).messages.map(({ content }) => content)).toEqual([
      "One",
      "One it is",
      "Two",
      "Two it is again",
    ]);
  });
});

describe("a thread that shows an earlier part", () => {
  it("does not reload its last answer, which would remove later messages", async () => {
    await page.direct.sendMessage(ID, "One");
    (await page.model.next()).say("One it is");
    await expect.poll(async () => (await page.direct.getState(ID)).messages.length).toBe(2);
    await page.direct.interrupt(ID);
    const answered = page.direct.sendMessage(ID, "Two", { wait: true });
    (await page.model.next()).say("Two it is").finish();
    await answered;
    const { rerender } = page.show(<Chat sessionId={ID} leftOut={2} />);
    await until(() => shown().join("|") === "One|One it is");
    expect(button("Try again").disabled).toBe(true);
    rerender(<Chat sessionId={ID} />);
    await until(() => shown().length === 4);
    expect(button("Try again").disabled).toBe(false);
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

  it("sends messages while an answer streams; the service queues them", async () => {
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

  it("replaces an edited message and what follows it, also while the answer streams", async () => {
    const replaced: (string | null)[] = [];
    const onSend = (...[, , , replaces]: Parameters<OnSend>): void => void replaced.push(replaces);
    page.show(<Chat sessionId={ID} onSend={onSend} />);
    await isLive();
    await say("Hello");
    const first = await page.model.next();
    first.say("Hel");
    await until(() => shown().join("|") === "Hello|Hel");
    const { messages: before } = await page.direct.getState(ID);
    click("Edit");
    fireEvent.change(screen.getByRole("textbox", { name: "Edited" }), { target: { value: "Good morning" } });
    click("Save");
    await until(() => first.options.abortSignal?.aborted === true);
    (await page.model.next()).say("Morning").finish();
    await until(() => shown().join("|") === "Good morning|Morning");
    const { messages: stored } = await page.direct.getState(ID, { wait: 10 });
    expect(stored.map(({ content, status }) => `${content} ${status}`)).toEqual([
      "Good morning complete",
      "Morning complete",
    ]);
    expect(replaced).toEqual([null, before[0]!.id]);
  });

  it("restores the text of a message that could not be sent", async () => {
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

describe("a failed or unusual turn", () => {
  it("ends the failed answer as incomplete, with the reason", async () => {
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

  it("answers the same message again, with the same options, when it is reloaded", async () => {
    const responseSchema = { type: "object", properties: { warm: { type: "boolean" } } };
    page.show(<Chat sessionId={ID} newest={1} sendOptions={{ responseSchema }} />);
    await isLive();
    await say("Hi");
    (await page.model.next()).fail(new Error("broken"));
    await until(() => messages()[0]?.dataset["status"] === "incomplete");
    click("Try again");
    (await page.model.next()).say('{"warm":true}').finish();
    await until(() => shown().join("|") === '{"warm":true}');
    const { messages: stored } = await page.direct.getState(ID, { wait: 10 });
    expect(stored).toMatchObject([
      { content: "Hi", status: "complete" },
      { status: "complete", data: { warm: true } },
    ]);
    expect(sent).toEqual(["Hi leaves", "Hi arrives", "Hi leaves", "Hi arrives"]);
  });

  it("reports a reload that could not be sent", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Hi");
    (await page.model.next()).fail(new Error("broken"));
    await until(() => messages()[1]?.dataset["status"] === "incomplete");
    page.proxy.plan = ({ path }) =>
      path === "/api/chat"
        ? { status: 403, body: JSON.stringify({ detail: "Not you.", code: "app_forbidden" }) }
        : null;
    click("Try again");
    await until(() => errors.length === 1);
    expect(errors).toEqual([{ message: "Not you.", text: "Hi" }]);
  });

  it("adds the notice to the message that caused it", async () => {
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

  it("shows the stored threads, and switches to, renames and deletes them", async () => {
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

  it("starts a new thread, and reports the id of the shown session", async () => {
    const shownIds: string[] = [];
    page.show(<Chat onSessionChange={(id) => void shownIds.push(id)} />);
    await isLive();
    await say("Hi");
    (await page.model.next()).say("Hello").finish();
    // The title follows the answer, and only a page that still shows the session receives it.
    await until(() => shown().join() === "Hi,Hello" && threads().join() === "Hi");
    click("New thread");
    await until(() => messages().length === 0);
    expect(shownIds).toHaveLength(1);
    await say("Again");
    (await page.model.next()).say("Yes").finish();
    await until(() => shown().join() === "Again,Yes");
    expect((await page.direct.getState(shownIds[0]!)).messages[0]!.content).toBe("Again");
    await until(() => threads().length === 2);
    // Deleting another thread does not switch the shown one.
    const other = threads().indexOf("Hi");
    fireEvent.click(document.querySelectorAll("[data-thread]")[other]!.querySelectorAll("button")[2]!);
    await until(() => threads().join() === "Again");
    expect([shown().join(), shownIds.length]).toEqual(["Again,Yes", 1]);
  });
});
