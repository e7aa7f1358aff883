import { randomUUID } from "node:crypto";
import { describe, expect, it } from "../harness.ts";
import type { ChatInput } from "@colloquy/engine/internal/core/commands/chat";
import { FILE_GRACE_MS, UNUSED_FILE_MS } from "@colloquy/engine/internal/core/file";
import { ANONYMOUS } from "@colloquy/engine/internal/core/session-access";
import { givenStore, type OpenStore } from "./fixtures/given-store.ts";
import {
  callOf,
  chat,
  complete,
  existing,
  identityOf,
  load,
  messagesOf,
  open,
  remove,
  rename,
  startTurn,
  step,
  target,
} from "./fixtures/scenario.ts";

interface Blob {
  readonly blob: string;
  readonly bytes: number;
}

export function describeFiles(openStore: OpenStore): void {
  describe("files", () => {
    const given = givenStore(openStore, "each");

    /** Reserves room for bytes. Returns what the App and the owner would then use. */
    async function reserve(
      sessionId: string,
      { blob, app = "default", bytes }: { blob: string; app?: string; bytes: number },
      owner: string | null = null,
    ) {
      await given.store.files.expect({ blob, app, sessionId, owner, bytes }, UNUSED_FILE_MS);
      return await given.store.files.used(blob);
    }
    /** Returns what the App and the owner use. */
    async function used(app: string, session: string) {
      const blob = `${app}/${randomUUID()}`;
      const bytes = await reserve(session, { blob, app, bytes: 0 });
      await given.store.files.forget([blob]);
      return bytes;
    }
    async function add(session: string, more: { app?: string; sha256?: string; bytes?: number } = {}) {
      const app = more.app ?? "default";
      const input = {
        id: randomUUID(),
        app,
        sha256: more.sha256 ?? randomUUID().replaceAll("-", "").padEnd(64, "0"),
        mediaType: "image/png",
        bytes: more.bytes ?? 10,
        name: "tea.png",
        blob: `${app}/${randomUUID()}`,
      };
      await reserve(session, input);
      const committed = await given.store.execute({ kind: "addFile", target: target(session), input });
      return { ...input, outcome: committed?.outcome };
    }
    const find = async (session: string, { id }: { id: string }) =>
      (await given.store.files.find(session, id))?.file ?? null;
    /** Returns a file whose bytes are stored, for the result of a tool. */
    async function returned(session: string, more: { sha256?: string } = {}) {
      const file = {
        id: randomUUID(),
        app: "default",
        sha256: more.sha256 ?? randomUUID().replaceAll("-", "").padEnd(64, "0"),
        mediaType: "image/png",
        bytes: 10,
        name: "chart.png",
        blob: `default/${randomUUID()}`,
      };
      await reserve(session, file);
      const turn = await startTurn(given.store, session, "draw");
      const target = { turn: identityOf(turn) };
      const calls = [callOf("a")];
      await given.store.execute({
        kind: "stepWithCalls",
        target,
        input: { step: step(1, ""), calls, actions: [] },
      });
      const outcome = { callId: "a", output: "drawn", isError: false, durationMs: 1, files: [file] };
      const input = { outcome, starts: [] };
      const give = async () => await given.store.execute({ kind: "toolResult", target, input });
      const end = async (): Promise<void> => {
        await given.store.execute({ kind: "complete", target, input: { step: step(2, "Done.") } });
      };
      return { file, give, end };
    }
    async function answered(session: string, text: string, more: Partial<ChatInput> = {}) {
      const turn = await startTurn(given.store, session, text, more);
      await complete(given.store, turn, `answer to ${text}`);
    }
    /**
     * Cleans up everything that is due. Returns the distinct blobs that cleanup would remove from the file
     * store.
     */
    async function swept(): Promise<readonly string[]> {
      while ((await given.store.files.expire(1)) > 0);
      const removed = new Set<string>();
      for (;;) {
        const unused = await given.store.files.unused(2);
        if (unused.length === 0) return [...removed].toSorted();
        for (const { blob, isUsed } of unused) if (!isUsed) removed.add(blob);
        await given.store.files.forget(unused.map(({ id }) => id));
      }
    }

    it("keep an empty session until they expire", async () => {
      const session = randomUUID();
      await add(session);
      await given.clock.advance(UNUSED_FILE_MS);
      const expire = async () =>
        await given.store.sessions.expire({
          emptyBefore: given.clock.now(),
          unboundBefore: 0,
          limit: 10,
        });
      expect(await expire()).toEqual([]);
      await given.clock.advance(FILE_GRACE_MS);
      await swept();
      expect(await expire()).toMatchObject([{ id: session }]);
    });

    it("do not expire if an appended turn uses them", async () => {
      const session = randomUUID();
      const file = await add(session);
      const turns = [{ user: "", attachments: [file.id], steps: [{ text: "Tea.", calls: [] }] }];
      const input = { turns, messageId: randomUUID(), maxMessageBytes: 100_000 };
      const appended = await given.store.execute({ kind: "append", target: target(session), input });
      expect(appended?.outcome).toBe("ok");
      await given.clock.advance(2 * UNUSED_FILE_MS);
      await swept();
      expect(await find(session, file)).toMatchObject({ position: 1, dueAt: null });
      expect((await messagesOf(given.store, session))[0]?.extras?.attachments).toMatchObject([
        { id: file.id },
      ]);
    });

    it("expire after a day without a message, and are hidden before their removal", async () => {
      const session = randomUUID();
      const file = await add(session);
      expect(await find(session, file)).toMatchObject({
        id: file.id,
        name: "tea.png",
        mediaType: "image/png",
      });
      expect(await given.store.files.find(session, file.id)).toMatchObject({
        session: { app: null, owner: null },
      });
      expect(await given.store.files.find(session, randomUUID())).toMatchObject({ file: null });
      expect(await find(randomUUID(), file)).toBeNull();
      await given.clock.advance(UNUSED_FILE_MS);
      expect(await find(session, file)).toBeNull();
      const { outcome } = await chat(given.store, session, "late", { attachments: [file.id] });
      expect(outcome).toEqual({ kind: "rejected", reason: "attachment_not_found" });
      expect(await swept()).toEqual([]);
      await given.clock.advance(FILE_GRACE_MS);
      expect(await swept()).toEqual([file.blob]);
    });

    it("keep the order of the chat, and do not expire while a message uses them", async () => {
      const session = randomUUID();
      const [one, two] = [await add(session), await add(session)];
      await answered(session, "look", { attachments: [two.id, one.id] });
      const attachments = [two, one].map(({ id, sha256 }) => ({
        id,
        media_type: "image/png",
        bytes: 10,
        sha256,
        name: "tea.png",
      }));
      expect((await messagesOf(given.store, session))[0]?.extras).toEqual({ attachments });
      const [past] =
        (await given.store.turns.history(await startTurn(given.store, session, "and now?"), 100_000)) ?? [];
      expect(past?.userMessage.extras).toEqual({ attachments });
      await given.clock.advance(UNUSED_FILE_MS + FILE_GRACE_MS);
      expect(await swept()).toEqual([]);
      expect(await find(session, one)).not.toBeNull();
    });

    it("are rejected for messages of another App or another session", async () => {
      const session = randomUUID();
      const file = await add(session, { app: "shop" });
      const refused = (reason: string) => ({ kind: "rejected", reason });
      const send = async (to: string, app: string) =>
        (await chat(given.store, to, "hi", { app, attachments: [file.id] })).outcome;
      expect(await send(session, "default")).toEqual(refused("attachment_of_other_app"));
      expect(await send(randomUUID(), "shop")).toEqual(refused("attachment_not_found"));
      expect(await load(given.store, session)).toMatchObject({ messages: [] });
      expect(await send(session, "shop")).toMatchObject({ kind: "accepted" });
      expect((await add(session, { app: "default" })).outcome).toBe("app_mismatch");
    });

    it("survive an edit that keeps them, and expire after one that omits them", async () => {
      const session = randomUUID();
      const [kept, dropped] = [await add(session), await add(session)];
      await answered(session, "first");
      await answered(session, "look", { attachments: [kept.id, dropped.id] });
      const message = (await messagesOf(given.store, session))[2];
      await answered(session, "look again", { replaces: message?.id ?? "", attachments: [kept.id] });
      expect((await messagesOf(given.store, session))[2]?.extras?.attachments).toHaveLength(1);
      await given.clock.advance(UNUSED_FILE_MS + FILE_GRACE_MS);
      expect(await swept()).toEqual([dropped.blob]);
      expect(await find(session, kept)).not.toBeNull();
    });

    it("stay with the first message that uses them when a later one is removed", async () => {
      const session = randomUUID();
      const file = await add(session);
      await answered(session, "look", { attachments: [file.id] });
      await answered(session, "look again", { attachments: [file.id] });
      const message = (await messagesOf(given.store, session))[2];
      await answered(session, "other", { replaces: message?.id ?? "" });
      await given.clock.advance(UNUSED_FILE_MS + FILE_GRACE_MS);
      expect(await swept()).toEqual([]);
    });

    it("share bytes with forks, which are removed with the last session that uses them", async () => {
      const [session, copy] = [randomUUID(), randomUUID()];
      const [used, unused] = [await add(session), await add(session)];
      await answered(session, "look", { attachments: [used.id] });
      const input = { origin: session, through: null, access: ANONYMOUS, messageId: randomUUID() };
      await given.store.execute({ kind: "fork", target: { ...target(copy), access: ANONYMOUS }, input });
      expect(await find(copy, used)).toMatchObject({ id: used.id });
      expect(await find(copy, unused)).toBeNull();
      await remove(given.store, existing(session));
      expect(await find(session, used)).toBeNull();
      expect(await swept()).toEqual([unused.blob]);
      await remove(given.store, existing(copy));
      expect(await swept()).toEqual([used.blob]);
    });

    it("of a tool are added with its result, and only once", async () => {
      const session = randomUUID();
      const { file, give, end } = await returned(session);
      expect(await find(session, file)).toBeNull();
      const committed = await give();
      const { id, bytes, sha256 } = file;
      const attachments = [{ id, media_type: "image/png", bytes, sha256, name: "chart.png" }];
      expect(committed?.events.map(({ event }) => event)).toMatchObject([
        { type: "tool_complete", result: { output: "drawn", attachments } },
        { type: "message_updated", message: { tool_results: [{ attachments }] } },
      ]);
      expect(await find(session, file)).toMatchObject({ position: 2, dueAt: null, blob: file.blob });
      await give();
      await end();
      expect((await messagesOf(given.store, session))[1]?.toolResults).toMatchObject([{ attachments }]);
      expect(await used("default", session)).toEqual({ app: 10, owner: 10 });
      await given.clock.advance(UNUSED_FILE_MS + FILE_GRACE_MS);
      expect(await swept()).toEqual([]);
    });

    it("of a tool whose result was not stored leave no bytes", async () => {
      const { file, end } = await returned(randomUUID());
      await end();
      expect(await swept()).toEqual([]);
      await given.clock.advance(UNUSED_FILE_MS);
      expect(await swept()).toEqual([file.blob]);
    });

    it("of a tool expire after an edit of its message, and are copied with a fork", async () => {
      const [session, copy] = [randomUUID(), randomUUID()];
      const { file, give, end } = await returned(session);
      await give();
      await end();
      const input = { origin: session, through: null, access: ANONYMOUS, messageId: randomUUID() };
      await given.store.execute({ kind: "fork", target: { ...target(copy), access: ANONYMOUS }, input });
      expect(await find(copy, file)).toMatchObject({ id: file.id, position: 2, dueAt: null });
      const [message] = await messagesOf(given.store, session);
      await answered(session, "no", { replaces: message?.id ?? "" });
      await given.clock.advance(UNUSED_FILE_MS + FILE_GRACE_MS);
      expect(await swept()).toEqual([]);
      expect(await find(session, file)).toBeNull();
      await remove(given.store, existing(copy));
      expect(await swept()).toEqual([file.blob]);
    });

    it("of a tool share their bytes with equal ones", async () => {
      const sha256 = "b".repeat(64);
      const [one, two] = [randomUUID(), randomUUID()];
      const first = await add(one, { sha256 });
      const second = await returned(two, { sha256 });
      await second.give();
      expect(await find(two, second.file)).toMatchObject({ blob: first.blob });
      await second.end();
    });

    it("are deduplicated within their App, and duplicate bytes are removed", async () => {
      const sha256 = "a".repeat(64);
      const [one, two, other] = [randomUUID(), randomUUID(), randomUUID()];
      const first = await add(one, { sha256 });
      const second = await add(two, { sha256 });
      const third = await add(other, { sha256, app: "shop" });
      const blobs = await Promise.all([find(one, first), find(two, second), find(other, third)]);
      expect(blobs.map((file) => file?.blob)).toEqual([first.blob, first.blob, third.blob]);
      await remove(given.store, existing(one));
      expect(await swept()).toEqual([]);
      await remove(given.store, existing(two));
      expect(await swept()).toEqual([first.blob]);
      await remove(given.store, existing(other));
      expect(await swept()).toEqual([third.blob]);
      await given.clock.advance(UNUSED_FILE_MS);
      expect(await swept()).toContain(second.blob);
    });

    it("are due again later if their removal fails", async () => {
      for (const blob of ["default/one", "default/two"]) {
        const expected = { blob, app: "default", sessionId: randomUUID(), owner: null, bytes: 1 };
        await given.store.files.expect(expected, 0);
      }
      const due = async () => (await given.store.files.unused(10)).map(({ id }) => id).toSorted();
      await given.store.files.postpone(["default/one", "default/gone"], 1_000);
      expect(await due()).toEqual(["default/two"]);
      await given.clock.advance(1_000);
      expect(await due()).toEqual(["default/one", "default/two"]);
    });

    it("are counted for their App, and for the owner or the session", async () => {
      const [one, two] = [randomUUID(), randomUUID()];
      await add(one, { bytes: 5 });
      await add(two, { bytes: 7 });
      await add(two, { bytes: 9, app: "shop" });
      expect(await used("default", one)).toEqual({ app: 12, owner: 5 });
      expect(await used("shop", two)).toEqual({ app: 9, owner: 9 });
      expect(await used("shop", randomUUID())).toEqual({ app: 9, owner: 0 });
      const mine = { apps: null, user: { owner: "ann", apps: ["default"], takesNew: true } };
      const sessions = [randomUUID(), randomUUID()];
      for (const session of sessions) {
        const input = { userState: null, publicKey: null };
        await given.store.execute({ kind: "open", target: { ...target(session), access: mine }, input });
        await add(session, { bytes: 100 });
      }
      expect(await used("default", sessions[0]!)).toEqual({ app: 212, owner: 200 });
    });

    it("reserve room while their bytes are stored, in the order of their arrival", async () => {
      const session = randomUUID();
      const [one, two, three] = ["one", "two", "three"].map((name) => ({
        blob: `default/${name}`,
        bytes: 6,
      })) as [Blob, Blob, Blob];
      await reserve(session, one);
      expect(await reserve(session, two)).toEqual({ app: 12, owner: 12 });
      expect(await reserve(randomUUID(), three)).toEqual({ app: 18, owner: 6 });
      expect(await given.store.files.used(one.blob)).toEqual({ app: 6, owner: 6 });
      // An unknown size counts once it is known.
      await reserve(session, { ...one, bytes: 0 });
      expect(await given.store.files.used(two.blob)).toEqual({ app: 6, owner: 6 });
      expect(await reserve(session, one)).toEqual({ app: 18, owner: 12 });
      await given.store.files.forget([two.blob]);
      expect(await given.store.files.used(one.blob)).toEqual({ app: 12, owner: 6 });
      await expect(given.store.files.used(two.blob)).rejects.toThrow("is not expected");
    });

    it("release their room when they are added, with their own bytes or those of an equal file", async () => {
      const session = randomUUID();
      const sha256 = "c".repeat(64);
      await add(session, { bytes: 6, sha256 });
      await add(session, { bytes: 6, sha256 });
      expect(await used("default", session)).toEqual({ app: 12, owner: 12 });
      await remove(given.store, existing(session));
      expect(await used("default", session)).toEqual({ app: 0, owner: 0 });
    });

    it("reserve room for the user who becomes the owner of an empty session", async () => {
      const [one, two, full] = [randomUUID(), randomUUID(), randomUUID()];
      const blob = () => `default/${randomUUID()}`;
      await reserve(one, { blob: blob(), bytes: 5 }, "ann");
      expect(await reserve(two, { blob: blob(), bytes: 5 }, "ann")).toEqual({ app: 10, owner: 10 });
      await answered(full, "hello");
      expect(await reserve(full, { blob: blob(), bytes: 5 }, "ann")).toEqual({ app: 15, owner: 5 });
      const titled = randomUUID();
      await open(given.store, target(titled));
      await rename(given.store, existing(titled), "Tea");
      expect(await reserve(titled, { blob: blob(), bytes: 5 }, "ann")).toEqual({ app: 20, owner: 15 });
    });

    it("that a client's result names do not expire, and belong to the message of the call", async () => {
      const session = randomUUID();
      const file = await add(session);
      const turn = await startTurn(given.store, session, "look");
      const action = randomUUID();
      const asked = {
        kind: "client_tool",
        request: { tool: "look", input: {} },
        repeatable: false,
      } as const;
      const input = {
        step: step(1, ""),
        calls: [{ ...callOf("a"), phase: "asked" as const }],
        actions: [{ id: action, callId: "a", asked, validMs: 3 * UNUSED_FILE_MS }],
      };
      await given.store.execute({ kind: "stepWithCalls", target: { turn: identityOf(turn) }, input });
      const claim = { action, renews: null, token: "mine" };
      await given.store.execute({ kind: "claimAction", target: target(session), input: claim });
      const decide = async (attachments: string[]) => {
        const decision = { decision: "approve", claim: "mine", result: { output: 1, attachments } } as const;
        const decided = { action, ...decision };
        return await given.store.execute({ kind: "decideAction", target: target(session), input: decided });
      };
      expect((await decide([file.id, randomUUID()]))?.outcome).toEqual({ kind: "attachment_not_found" });
      expect((await decide([file.id]))?.outcome).toMatchObject({ kind: "decided" });
      expect((await messagesOf(given.store, session))[1]?.toolResults).toMatchObject([
        { output: 1, attachments: [{ id: file.id, name: "tea.png" }] },
      ]);
      await given.clock.advance(2 * UNUSED_FILE_MS);
      await swept();
      expect(await find(session, file)).toMatchObject({ position: 2, dueAt: null });
    });

    it("repeat a chat only with the same files", async () => {
      const session = randomUUID();
      const [one, two] = [await add(session), await add(session)];
      const message = { isClientsId: true, messageId: randomUUID() };
      await chat(given.store, session, "look", { ...message, attachments: [one.id] });
      const again = async (attachments: string[]) =>
        (await chat(given.store, session, "look", { ...message, attachments })).outcome;
      expect(await again([one.id])).toMatchObject({ kind: "replayed" });
      expect(await again([two.id])).toEqual({ kind: "rejected", reason: "message_exists" });
    });
  });
}
