// Runs `colloquy acp` with the SDK's client, against a service that other clients use and that tests kill.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { methods } from "@agentclientprotocol/sdk";
import { type Client, createClient } from "@colloquy/client";
import { FILES } from "@colloquy/engine/internal/files/testing/sample-files";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { TcpProxy } from "./tcp-proxy.ts";
import { begin, cancel, CWD, type Editor, MAIN, prompt, startEditor, textOf } from "./acp-editor.ts";
import { findFreePort } from "../torture/harness/server-process.ts";
import { Program } from "./black-box/server.ts";
import { Issuer } from "./issuer.ts";
import { type HeldProvider, startHeldProvider } from "./held-provider.ts";

type Cleanups = (() => Promise<unknown>)[];

const cleanups: Cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

interface Started {
  readonly provider: HeldProvider;
  readonly program: Program;
  readonly home: string;
}

async function startService(cleanups: Cleanups): Promise<Started> {
  const provider = await startHeldProvider();
  cleanups.push(() => provider.close());
  const program = await Program.start(
    {
      providers: { local: { kind: "openai-compatible", baseURL: provider.url } },
      apps: {
        default: {
          models: ["local/m", "demo/assistant"],
          utilityModel: "demo/assistant",
          tools: ["calculator", "ask_user"],
          approvals: { calculator: "always" },
          allowClientTools: true,
          onBusy: "steer",
        },
      },
    },
    { PORT: String(await findFreePort()) },
  );
  cleanups.push(() => program.remove());
  const home = await mkdtemp(join(tmpdir(), "colloquy-acp-"));
  cleanups.push(() => rm(home, { recursive: true }));
  return { provider, program, home };
}

const calculate = { expression: "12 * 7" };

describe("an editor", () => {
  it("continues after its service was killed, and finds the conversation again", async () => {
    const { provider, program, home } = await startService(cleanups);
    const editor = await startEditor({ url: program.url, home, cleanups });
    const { sessionId, configOptions } = await begin(editor);
    expect(configOptions).toMatchObject([
      { id: "model", options: [{ value: "local/m" }, { value: "demo/assistant" }] },
    ]);
    const answered = prompt(editor, sessionId, "hello");
    (await provider.next()).say("One ");
    await expect.poll(() => editor.said()).toBe("One ");
    const { port } = new URL(program.url);
    await program.stop("SIGKILL");
    await program.run({ PORT: port });
    const call = await provider.next();
    call.say("One two");
    call.finish();
    expect(await answered).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toBe("One two");

    const other = await startEditor({ url: program.url, home, cleanups });
    const { sessions } = await other.agent.request(methods.agent.session.list, { cwd: CWD });
    expect(sessions).toMatchObject([{ sessionId, cwd: CWD }]);
    await other.agent.request(methods.agent.session.load, { sessionId, cwd: CWD, mcpServers: [] });
    expect(other.updates).toMatchObject([
      { sessionUpdate: "user_message_chunk", content: { text: "hello" } },
      { sessionUpdate: "agent_message_chunk", content: { text: "One two" } },
    ]);
    await other.agent.request(methods.agent.session.delete, { sessionId });
    await other.agent.request(methods.agent.session.delete, { sessionId });
    expect((await other.agent.request(methods.agent.session.list, {})).sessions).toEqual([]);
    await expect(
      other.agent.request(methods.agent.session.resume, { sessionId, cwd: CWD }),
    ).rejects.toMatchObject({ code: -32_002, data: { code: "session_not_found" } });
  });
});

describe("an editor beside other clients", () => {
  const kept: Cleanups = [];
  let started: Started;
  let service: Client;
  let editor: Editor;
  let sessionId: string;
  beforeAll(async () => {
    started = await startService(kept);
    service = createClient({ baseUrl: started.program.url });
  });
  afterAll(async () => {
    for (const cleanup of kept.toReversed()) await cleanup();
  });
  const open = async () => {
    editor = await startEditor({ url: started.program.url, home: started.home, cleanups });
    ({ sessionId } = await begin(editor));
  };
  const openThroughProxy = async () => {
    const proxy = await TcpProxy.start(Number(new URL(started.program.url).port));
    cleanups.push(() => proxy.stop());
    editor = await startEditor({ url: `http://127.0.0.1:${proxy.port}`, home: started.home, cleanups });
    ({ sessionId } = await begin(editor));
    return proxy;
  };
  const say = async (text: string) => {
    const call = await started.provider.next();
    call.say(text);
    return call;
  };
  const answer = async (text: string) => (await say(text)).finish();
  /** Returns the tool calls that the editor shows, with their states. */
  const callsOf = ({ updates }: Editor) =>
    updates.flatMap((update) =>
      update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update"
        ? [[update.sessionUpdate, update.status]]
        : [],
    );
  /** Leaves permission requests open from now on. Resolves at the first one. */
  const holdPermissions = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    editor.decide = () => {
      resolve();
      return new Promise(() => undefined);
    };
    return promise;
  };

  it("requests permissions, and continues in the same session", async () => {
    await open();
    const first = prompt(editor, sessionId, "what is 12 * 7?");
    (await started.provider.next()).callTool("calculator", calculate);
    await answer("84");
    expect(await first).toEqual({ stopReason: "end_turn" });
    expect(editor.permissions).toMatchObject([
      {
        toolCall: { title: "Calculator", rawInput: calculate },
        options: [{ optionId: "approve" }, { optionId: "deny" }],
      },
    ]);
    editor.decide = () => Promise.resolve({ outcome: { outcome: "selected", optionId: "deny" } });
    const second = prompt(editor, sessionId, "again");
    (await started.provider.next()).callTool("calculator", calculate);
    await answer(" I may not.");
    expect(await second).toEqual({ stopReason: "end_turn" });
    expect(callsOf(editor)).toEqual([
      ["tool_call", "in_progress"],
      ["tool_call_update", "completed"],
      ["tool_call", "in_progress"],
      ["tool_call_update", "failed"],
    ]);
    expect(new Set(editor.permissions.map(({ toolCall }) => toolCall.toolCallId)).size).toBe(2);
    expect(editor.said()).toBe("84 I may not.");
    expect(textOf(editor.updates, "user_message_chunk")).toBe("");
  });

  it("withdraws a permission request for an action that was decided elsewhere", async () => {
    await open();
    const asked = holdPermissions();
    const answered = prompt(editor, sessionId, "what is 12 * 7?");
    (await started.provider.next()).callTool("calculator", calculate);
    await asked;
    const [action] = (await service.getState(sessionId)).pending_actions;
    await service.decideAction(sessionId, action!.id, { decision: "approve" });
    await answer("84");
    expect(await answered).toEqual({ stopReason: "end_turn" });
  });

  it("explains where to decide if the editor does not support permission requests", async () => {
    await open();
    editor.decide = () => Promise.reject(new Error("no"));
    const answered = prompt(editor, sessionId, "what is 12 * 7?");
    (await started.provider.next()).callTool("calculator", calculate);
    await expect.poll(() => editor.said()).toMatch(/calculator needs a decision\. Open .* console/);
    const [action] = (await service.getState(sessionId)).pending_actions;
    await service.decideAction(sessionId, action!.id, { decision: "approve" });
    await answer("84");
    expect(await answered).toEqual({ stopReason: "end_turn" });
  });

  it("answers a question of the assistant with the next prompt", async () => {
    await open();
    const asked = prompt(editor, sessionId, "paint it");
    const question = { question: "Which color?", choices: ["red", "blue"] };
    (await started.provider.next()).callTool("ask_user", question);
    expect(await asked).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toBe("\n\nWhich color?\n- red\n- blue");
    const answered = prompt(editor, sessionId, "blue");
    await answer("Painted.");
    expect(await answered).toEqual({ stopReason: "end_turn" });
    expect(editor.updates.at(-2)).toMatchObject({ sessionUpdate: "tool_call_update", status: "completed" });
    expect(editor.said()).toMatch(/- bluePainted\.$/);
    expect((await service.getState(sessionId)).messages).toHaveLength(2);
  });

  it("answers a question of a session that it resumes", async () => {
    await open();
    await service.sendMessage(sessionId, "paint it");
    (await started.provider.next()).callTool("ask_user", { question: "Which color?" });
    await expect.poll(async () => (await service.getState(sessionId)).pending_actions).toHaveLength(1);
    await editor.leave();
    const { url } = started.program;
    const other = await startEditor({ url, home: started.home, cleanups });
    await other.agent.request(methods.agent.session.resume, { sessionId, cwd: CWD });
    const answered = prompt(other, sessionId, "blue");
    await answer("Painted.");
    expect(await answered).toEqual({ stopReason: "end_turn" });
    expect(other.said()).toBe("Painted.");
    expect(textOf(other.updates, "user_message_chunk")).toBe("");
  });

  it("reports why an answer failed", async () => {
    await open();
    const begun = prompt(editor, sessionId, "hello");
    (await say("One")).fail();
    await expect(begun).rejects.toMatchObject({ code: -32_603, message: expect.stringMatching(/model/) });
    const empty = prompt(editor, sessionId, "hello");
    (await started.provider.next()).fail();
    await expect(empty).rejects.toMatchObject({ code: -32_603, message: expect.stringMatching(/model/) });
    const next = prompt(editor, sessionId, "again");
    await answer("Two");
    expect(await next).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toBe("OneTwo");
  });

  it("waits for another client's message, and shows its answer", async () => {
    await open();
    await service.sendMessage(sessionId, "first");
    const running = await say("One");
    // The first prompt shows updates that arrive after it.
    await expect.poll(async () => (await service.getState(sessionId)).messages[1]?.content).toBe("One");
    const queued = prompt(editor, sessionId, "second");
    await expect.poll(async () => (await service.getState(sessionId)).messages).toHaveLength(3);
    // A failed answer to another message does not fail this prompt.
    running.fail();
    await answer("Two");
    expect(await queued).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toBe("Two");
    // The next prompt first shows updates since the previous one.
    await service.sendMessage(sessionId, "third");
    await answer("Three");
    await expect.poll(async () => (await service.getState(sessionId)).is_processing).toBe(false);
    const last = prompt(editor, sessionId, "fourth");
    await answer("Four");
    expect(await last).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toBe("TwoThreeFour");
    expect(textOf(editor.updates, "user_message_chunk")).toBe("third");
  });

  it("gets all messages of a turn that another client steers", async () => {
    await open();
    const answered = prompt(editor, sessionId, "what is 12 * 7?");
    const first = await say("First.");
    await expect.poll(() => editor.said()).toBe("First.");
    await service.sendMessage(sessionId, "cite a source");
    first.callTool("calculator", calculate);
    await answer("Second.");
    expect(await answered).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toBe("First.\n\nSecond.");
    expect(textOf(editor.updates, "user_message_chunk")).toBe("cite a source");
  });

  it("requests permission for an earlier turn that the prompt waits for", async () => {
    await open();
    await service.sendMessage(sessionId, "what is 12 * 7?");
    (await started.provider.next()).callTool("calculator", calculate);
    await expect.poll(async () => (await service.getState(sessionId)).pending_actions).toHaveLength(1);
    const answered = prompt(editor, sessionId, "and then?");
    await answer("84");
    await answer("Done");
    expect(await answered).toEqual({ stopReason: "end_turn" });
    expect(editor.permissions).toMatchObject([{ toolCall: { title: "Calculator" } }]);
    expect(editor.said()).toBe("84Done");
  });

  it("ends a prompt at an action that only another client can decide, and shows the rest with the next prompt", async () => {
    await open();
    const clientTools = { draw: { description: "Draws", inputSchema: { type: "object", properties: {} } } };
    await service.sendMessage(sessionId, "draw", { clientTools });
    (await started.provider.next()).callTool("draw", {});
    await expect.poll(async () => (await service.getState(sessionId)).pending_actions).toHaveLength(1);
    expect(await prompt(editor, sessionId, "now")).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toMatch(/draw needs a decision\. Open .* console/);
    const [action] = (await service.getState(sessionId)).pending_actions;
    const { claim } = await service.claimAction(sessionId, action!.id);
    await service.decideAction(sessionId, action!.id, {
      decision: "approve",
      claim,
      result: { output: "drawn" },
    });
    await answer("Drawn.");
    await answer("Now.");
    const last = prompt(editor, sessionId, "more");
    await answer("More.");
    expect(await last).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toMatch(/Drawn\.Now\.More\.$/);
  });

  it("reports that another client has replaced its message, while the connection was cut", async () => {
    const proxy = await openThroughProxy();
    const answered = prompt(editor, sessionId, "hello");
    await say("One");
    await expect.poll(() => editor.said()).toBe("One");
    proxy.isBroken = true;
    proxy.cut();
    await service.interrupt(sessionId);
    const [first] = (await service.getState(sessionId)).messages;
    await service.sendMessage(sessionId, "hello again", { replaces: first!.id });
    await answer("Two");
    proxy.isBroken = false;
    await expect(answered).rejects.toThrow(/replaced or removed this message/);
  });

  it("reports that another client has deleted the conversation", async () => {
    await open();
    const answered = prompt(editor, sessionId, "hello");
    const call = await say("One");
    await expect.poll(() => editor.said()).toBe("One");
    await service.deleteThread(sessionId);
    await expect(answered).rejects.toMatchObject({ code: -32_002, message: "The conversation was deleted." });
    call.finish();
    await expect(prompt(editor, sessionId, "hello")).rejects.toMatchObject({ code: -32_002 });
  });

  it.each([
    ["reads the conversation", "GET /api/sessions/", 0],
    ["stores the message", "POST /api/chat", 1],
  ])("cancels a prompt that %s", async (_, request, stored) => {
    const proxy = await openThroughProxy();
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
    proxy.fromClient = (bytes, { server }) => {
      if (!bytes.toString().startsWith(request)) return void server.write(bytes);
      hold();
      void isReleased.then(() => server.write(bytes));
    };
    const answered = prompt(editor, sessionId, "hello");
    await isHeld;
    await cancel(editor, sessionId);
    // The agent has read the cancellation before it answers this.
    await expect(prompt(editor, "x", "hello")).rejects.toThrow(/UUID/);
    proxy.fromClient = null;
    release();
    expect(await answered).toEqual({ stopReason: "cancelled" });
    const { messages, is_processing } = await service.getState(sessionId);
    expect([messages.filter(({ sender }) => sender === "user").length, is_processing]).toEqual([
      stored,
      false,
    ]);
  });

  it("cancels a prompt while it is answered", async () => {
    await open();
    const answered = prompt(editor, sessionId, "hello");
    await say("One");
    await expect.poll(() => editor.said()).toBe("One");
    await cancel(editor, sessionId.toUpperCase());
    expect(await answered).toEqual({ stopReason: "cancelled" });
    expect((await service.getState(sessionId)).is_processing).toBe(false);
  });

  it("does not cancel the next prompt if the interrupt arrives after the end of its turn", async () => {
    const proxy = await openThroughProxy();
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
    proxy.fromClient = (bytes, { server }) => {
      if (!bytes.toString().startsWith("POST /api/interrupt")) return void server.write(bytes);
      hold();
      void isReleased.then(() => server.write(bytes));
    };
    const first = prompt(editor, sessionId, "hello");
    const call = await say("One.");
    await expect.poll(() => editor.said()).toBe("One.");
    await cancel(editor, sessionId);
    await isHeld;
    call.finish();
    const second = prompt(editor, sessionId, "again");
    await expect.poll(async () => (await service.getState(sessionId)).is_processing).toBe(false);
    // Meanwhile, the second prompt would have been stored if it did not wait.
    const other = await begin(editor);
    const elsewhere = prompt(editor, other.sessionId, "elsewhere");
    await answer("Other.");
    expect(await elsewhere).toEqual({ stopReason: "end_turn" });
    expect((await service.getState(sessionId)).messages.length).toBe(2);
    release();
    await answer("Two.");
    expect(await Promise.all([first, second])).toEqual([
      { stopReason: "end_turn" },
      { stopReason: "end_turn" },
    ]);
  });

  it("does not treat a cancelled permission request as a decision", async () => {
    await open();
    editor.decide = () => Promise.resolve({ outcome: { outcome: "cancelled" } });
    const answered = prompt(editor, sessionId, "what is 12 * 7?");
    (await started.provider.next()).callTool("calculator", calculate);
    expect(await answered).toEqual({ stopReason: "cancelled" });
    expect(await service.listActions(sessionId)).toMatchObject([{ status: "cancelled" }]);
    expect(callsOf(editor).at(-1)).toEqual(["tool_call_update", "failed"]);
  });

  it("keeps the turn running after the editor disconnects", async () => {
    await open();
    void prompt(editor, sessionId, "hello").catch(() => undefined);
    const call = await say("One");
    await expect.poll(() => editor.said()).toBe("One");
    expect(await editor.leave()).toBe(0);
    call.say(" two");
    call.finish();
    await expect
      .poll(async () => (await service.getState(sessionId)).messages.at(-1))
      .toMatchObject({ content: "One two", status: "complete" });
    const { url } = started.program;
    const other = await startEditor({ url, home: started.home, cleanups });
    const { sessions } = await other.agent.request(methods.agent.session.list, {});
    expect(sessions.map((session) => session.sessionId)).toContain(sessionId);
  });

  it("streams the rest of an answer that was in progress when it was loaded", async () => {
    await open();
    await service.sendMessage(sessionId, "first");
    const running = await say("One");
    await expect.poll(async () => (await service.getState(sessionId)).messages.at(-1)?.content).toBe("One");
    await editor.agent.request(methods.agent.session.load, { sessionId, cwd: CWD, mcpServers: [] });
    expect(editor.said()).toBe("One");
    running.say(" two");
    running.finish();
    const answered = prompt(editor, sessionId, "second");
    await answer("Three");
    expect(await answered).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toBe("One twoThree");
    expect(textOf(editor.updates, "user_message_chunk")).toBe("first");
  });

  it("loads a long conversation in parts, and what other clients added since in parts", async () => {
    const proxy = await openThroughProxy();
    const requests: string[] = [];
    proxy.fromClient = (bytes, { server }) => {
      requests.push(...(bytes.toString().match(/^GET \/api\/\S+/gm) ?? []));
      server.write(bytes);
    };
    const notes: string[] = [];
    const add = async (count: number) => {
      for (let left = count; left > 0; left -= 1) {
        const note = `Note ${notes.length}.`;
        notes.push(note);
        await service.sendMessage(sessionId, note, { rig: "demo/assistant", wait: true });
      }
    };
    const shownNotes = () => textOf(editor.updates, "user_message_chunk").match(/Note \d+\./g) ?? [];
    await add(70);
    await editor.agent.request(methods.agent.session.load, { sessionId, cwd: CWD, mcpServers: [] });
    expect(shownNotes()).toEqual(notes);
    expect(editor.said().match(/"Note \d+\."/g)).toEqual(notes.map((note) => `"${note}"`));
    await add(60);
    await prompt(editor, sessionId, "count to 3");
    expect(shownNotes()).toEqual(notes);
    expect(editor.said()).toMatch(/1 2 3$/);
    expect(requests.length).toBeGreaterThan(5);
    for (const request of requests) {
      if (request.includes("/api/state")) expect(request).toMatch(/messages=last%3A\d+/);
      if (request.includes("/messages")) expect(request).toMatch(/limit=50/);
    }
  });

  it("sends nothing of before when a prompt follows the edit of an earlier message", async () => {
    await open();
    for (let turn = 0; turn < 40; turn += 1)
      await service.sendMessage(sessionId, `Note ${turn}.`, { rig: "demo/assistant", wait: true });
    const { url } = started.program;
    const other = await startEditor({ url, home: started.home, cleanups });
    await other.agent.request(methods.agent.session.resume, { sessionId, cwd: CWD });
    await prompt(other, sessionId, "count to 2");
    const { messages } = await service.getState(sessionId);
    await service.sendMessage(sessionId, "Replaced.", { replaces: messages[20]!.id, wait: true });
    await prompt(other, sessionId, "count to 3");
    expect(textOf(other.updates, "user_message_chunk")).toBe("Replaced.");
    expect(other.said()).not.toContain("Note");
  });

  it("attaches images and files to the message, and returns links to them when a session is loaded", async () => {
    await open();
    const answered = editor.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [
        { type: "image", data: FILES.png.toString("base64"), mimeType: "image/png" },
        { type: "text", text: "Compare" },
        {
          type: "resource",
          resource: {
            uri: "file:///a/The%20plan.pdf",
            blob: FILES.pdf.toString("base64"),
            mimeType: "application/pdf",
          },
        },
      ],
    });
    await answer("Equal");
    expect(await answered).toEqual({ stopReason: "end_turn" });
    const attachments = [
      { media_type: "image/png", bytes: FILES.png.length },
      { media_type: "application/pdf", name: "The plan.pdf" },
    ];
    const sent = (await service.getState(sessionId)).messages[0];
    expect(sent).toMatchObject({ content: "Compare", attachments });
    const other = await startEditor({ url: started.program.url, home: started.home, cleanups });
    await other.agent.request(methods.agent.session.load, { sessionId, cwd: CWD, mcpServers: [] });
    const shown = other.updates.filter(({ sessionUpdate }) => sessionUpdate === "user_message_chunk");
    expect(shown).toMatchObject([
      { content: { type: "resource_link", mimeType: "image/png", size: FILES.png.length } },
      { content: { type: "resource_link", name: "The plan.pdf" } },
      { content: { type: "text", text: "Compare" } },
    ]);
    expect(new Set(shown.map((update) => "messageId" in update && update.messageId))).toEqual(
      new Set([sent?.id]),
    );
  });

  it("rejects invalid files, and files in the answer to a question", async () => {
    await open();
    const send = (data: Buffer, mimeType: string) =>
      editor.agent.request(methods.agent.session.prompt, {
        sessionId,
        prompt: [{ type: "image", data: data.toString("base64"), mimeType }],
      });
    await expect(send(FILES.pdf, "image/png")).rejects.toMatchObject({ code: -32_602 });
    await expect(send(Buffer.from("<svg/>"), "image/svg+xml")).rejects.toMatchObject({
      code: -32_602,
      data: { code: "file_type_unsupported" },
    });
    expect((await service.getState(sessionId)).messages).toEqual([]);
    const asked = prompt(editor, sessionId, "paint it");
    (await started.provider.next()).callTool("ask_user", { question: "Which color?" });
    await asked;
    await expect(send(FILES.png, "image/png")).rejects.toThrow(/Answer it with text/);
  });

  it("rejects blank prompts and unknown sessions", async () => {
    await open();
    const { session } = methods.agent;
    await expect(prompt(editor, sessionId, " ")).rejects.toMatchObject({
      code: -32_602,
      data: { code: "message_blank" },
    });
    await expect(
      editor.agent.request(session.load, { sessionId: "x", cwd: CWD, mcpServers: [] }),
    ).rejects.toThrow(/UUID/);
    const unknown = randomUUID();
    const requests = [
      () => editor.agent.request(session.load, { sessionId: unknown, cwd: CWD, mcpServers: [] }),
      () =>
        editor.agent.request(session.setConfigOption, {
          sessionId: unknown,
          configId: "model",
          value: "local/m",
        }),
      () => prompt(editor, unknown, "hello"),
    ];
    for (const request of requests) await expect(request()).rejects.toMatchObject({ code: -32_002 });
    await expect(service.getSession(unknown)).rejects.toMatchObject({ status: 404 });
  });

  it("answers concurrent prompts of a session in order", async () => {
    await open();
    const first = prompt(editor, sessionId.toUpperCase(), "hello");
    const call = await say("One.");
    const second = prompt(editor, sessionId, "again");
    const third = prompt(editor, sessionId, "and again");
    call.finish();
    expect(await first).toEqual({ stopReason: "end_turn" });
    await answer("Two.");
    expect(await second).toEqual({ stopReason: "end_turn" });
    await answer("Three.");
    expect(await third).toEqual({ stopReason: "end_turn" });
    expect(editor.said()).toBe("One.Two.Three.");
    const { messages } = await service.getState(sessionId);
    expect(messages.map(({ content }) => content)).toEqual([
      "hello",
      "One.",
      "again",
      "Two.",
      "and again",
      "Three.",
    ]);
  });

  it("cancels running and queued prompts, but not a later one", async () => {
    await open();
    const running = prompt(editor, sessionId, "hello");
    await say("One");
    await expect.poll(() => editor.said()).toBe("One");
    const waiting = prompt(editor, sessionId, "again");
    await cancel(editor, sessionId);
    const following = prompt(editor, sessionId, "something else");
    expect(await Promise.all([running, waiting])).toEqual([
      { stopReason: "cancelled" },
      { stopReason: "cancelled" },
    ]);
    await answer("Two.");
    expect(await following).toEqual({ stopReason: "end_turn" });
    const { messages } = await service.getState(sessionId);
    expect(messages.map(({ content }) => content)).toEqual(["hello", "One", "something else", "Two."]);
  });

  it("does not answer a question with a prompt sent before it", async () => {
    await open();
    const first = prompt(editor, sessionId, "hello");
    const call = await say("Let me ask.");
    const second = prompt(editor, sessionId, "and tests");
    // The agent has read the second prompt before it answers this.
    await expect(prompt(editor, "x", "hello")).rejects.toThrow(/UUID/);
    call.callTool("ask_user", { question: "Which?", choices: ["A", "B"] });
    expect(await Promise.all([first, second])).toEqual([
      { stopReason: "end_turn" },
      { stopReason: "end_turn" },
    ]);
    const answered = prompt(editor, sessionId, "B");
    await answer("Done.");
    await answer("Tests too.");
    expect(await answered).toEqual({ stopReason: "end_turn" });
    const { messages } = await service.getState(sessionId, { wait: 10 });
    expect(messages[1]?.tool_results).toMatchObject([{ output: { answer: "B" } }]);
    expect(messages.slice(2).map(({ content }) => content)).toEqual(["and tests", "Tests too."]);
  });

  it("answers a cancelled prompt immediately while it is queued", async () => {
    await open();
    void prompt(editor, sessionId, "hello").catch(() => undefined);
    await say("One");
    const abort = new AbortController();
    const { prompt: send } = methods.agent.session;
    const waiting = editor.agent.request(
      send,
      { sessionId, prompt: [{ type: "text", text: "again" }] },
      { cancellationSignal: abort.signal },
    );
    abort.abort();
    await expect(waiting.then(({ stopReason }) => stopReason)).resolves.toBe("cancelled");
    await cancel(editor, sessionId);
  });

  it("embeds files in code blocks that their content cannot close", async () => {
    await open();
    const answered = editor.agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [
        { type: "text", text: "See " },
        { type: "resource_link", name: "a.ts", uri: "file:///a.ts" },
        { type: "resource", resource: { uri: "file:///b.md", text: "```js\n1\n```" } },
      ],
    });
    await answer("Yes");
    expect(await answered).toEqual({ stopReason: "end_turn" });
    expect((await service.getState(sessionId)).messages[0]?.content).toBe(
      "See [a.ts](file:///a.ts)\n\nfile:///b.md\n````\n```js\n1\n```\n````\n",
    );
  });
});

describe("an editor of a signed-in user", () => {
  it("lists the user's conversations in pages", async () => {
    const issuer = await Issuer.start();
    cleanups.push(() => issuer.stop());
    const users = { issuer: issuer.url, audience: "here" };
    const program = await Program.start({ apps: { default: { models: ["demo/assistant"], users } } });
    cleanups.push(() => program.remove());
    const token = await issuer.token("ada", "here");
    const service = createClient({ baseUrl: program.url, token: () => token });
    const ids = Array.from({ length: 201 }, () => randomUUID());
    for (const id of ids) await service.createSession(id);
    const editor = await startEditor({ url: program.url, home: program.directory, cleanups, token });
    const list = async (params: { readonly cursor?: string }) =>
      await editor.agent.request(methods.agent.session.list, { cwd: CWD, ...params });
    const first = await list({});
    expect(first.sessions).toHaveLength(200);
    const second = await list({ cursor: first.nextCursor ?? "" });
    expect(second.nextCursor ?? null).toBeNull();
    const listed = [...first.sessions, ...second.sessions];
    expect(listed.map(({ sessionId }) => sessionId)).toEqual(expect.arrayContaining(ids));
    await expect(list({ cursor: "nonsense" })).rejects.toMatchObject({ code: -32_602 });
  });
});

describe("an agent with a service of its own", () => {
  it("writes only protocol messages to standard output, even if the configuration prints", async () => {
    const folder = await mkdtemp(join(tmpdir(), "colloquy-acp-"));
    cleanups.push(() => rm(folder, { recursive: true }));
    await writeFile(
      join(folder, "colloquy.config.ts"),
      `console.log("a line"); process.stdout.write("more\\n"); export default { apps: { default: { models: ["demo/assistant"] } } };`,
    );
    const child = spawn(process.execPath, [MAIN, "acp"], {
      stdio: ["pipe", "pipe", "pipe"],
      cwd: folder,
      env: { ...process.env, XDG_STATE_HOME: folder },
    });
    let errors = "";
    child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
    const ended = once(child, "exit");
    const lines: unknown[] = [];
    const output = createInterface({ input: child.stdout });
    output.on("line", (line) => lines.push(JSON.parse(line)));
    const answered = once(output, "line");
    const initialize = { protocolVersion: 99, clientCapabilities: {} };
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize })}\n`,
    );
    await answered;
    child.stdin.end();
    expect(await ended).toEqual([0, null]);
    expect(lines).toMatchObject([{ id: 1, result: { protocolVersion: 1 } }]);
    expect(errors).toContain("a line\nmore\n");
  });
});
