import { describe, expect, it } from "vitest";
import type { FileRecord } from "../file.ts";
import { DecidedSession } from "./testing/decided-session.ts";

const ID = "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11";
const FILE = "0b9f6f0e-6c1d-8b57-8a53-0f6c1c7d2a21";
const OTHER = "0b9f6f0e-6c1d-8b57-8a53-0f6c1c7d2a22";
const file = (id: string): FileRecord => ({
  id,
  app: "default",
  sha256: "0".repeat(64),
  mediaType: "image/png",
  bytes: 10,
  name: "tea.png",
  blob: `default/${id}`,
  createdAt: 0,
  position: null,
  dueAt: Infinity,
});
const call = { id: "c1", name: "look", arguments: { at: "sky" } };
const TURNS = [
  { user: "one", steps: [] },
  {
    user: "",
    steps: [
      {
        text: "I look",
        calls: [
          { ...call, output: "blue" },
          { ...call, id: "c2", output: undefined },
        ],
      },
      { text: "Blue.", calls: [] },
    ],
  },
];
const append = (one: DecidedSession, maxMessageBytes = 100_000) =>
  one.run("append", { turns: TURNS, messageId: ID, maxMessageBytes });

describe("appending turns", () => {
  it("adds finished turns with their messages, calls and steps, and announces the messages", () => {
    const one = new DecidedSession();
    expect(append(one)).toBe("ok");
    expect(one.lines).toEqual([
      "user complete: one",
      "user complete: ",
      "assistant complete: I look\n\nBlue.",
    ]);
    expect(one.types).toEqual(["message_created", "message_created", "message_created"]);
    expect(one.turns.map(({ state, endedAt }) => [state, endedAt])).toEqual([
      ["complete", one.at],
      ["complete", one.at],
    ]);
    expect(one.messages.at(-1)).toMatchObject({
      turn: 2,
      toolCalls: [
        { id: "c1", status: "complete", step: 1, text_offset: 6 },
        { id: "c2", status: "interrupted", step: 1, text_offset: 6 },
      ],
      toolResults: [{ call_id: "c1", output: "blue", is_error: false }],
    });
    expect(one.last.addedSteps.map(({ turn, step }) => [turn, step.number, step.text])).toEqual([
      [2, 1, "I look"],
      [2, 2, "Blue."],
    ]);
    expect(new Set(one.messages.map(({ id }) => id)).size).toBe(3);
  });

  it("continues the numbers of turns and positions", () => {
    const one = new DecidedSession();
    append(one);
    append(one);
    expect(one.turns.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect(one.messages.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("accepts files of the session, which no longer expire", () => {
    const one = new DecidedSession();
    one.files = [file(FILE), file(OTHER)];
    const turns = [
      { user: "", attachments: [OTHER, FILE], steps: [] },
      { user: "again", attachments: [FILE], steps: [] },
    ];
    expect(one.run("append", { turns, messageId: ID, maxMessageBytes: 100_000 })).toBe("ok");
    expect(one.messages.map(({ extras }) => extras?.attachments?.map(({ id }) => id))).toEqual([
      [OTHER, FILE],
      [FILE],
    ]);
    expect([...one.last.changedFiles.values()]).toMatchObject([
      { id: OTHER, position: 1, dueAt: null },
      { id: FILE, position: 1, dueAt: null },
    ]);
  });

  it("accepts files of outputs, which belong to the answer", () => {
    const one = new DecidedSession();
    one.files = [file(FILE), file(OTHER)];
    const call = { id: "c1", name: "look", arguments: {}, output: "seen" };
    const steps = [{ text: "", calls: [{ ...call, attachments: [OTHER, FILE] }] }];
    const turns = [{ user: "look", attachments: [FILE], steps }];
    expect(one.run("append", { turns, messageId: ID, maxMessageBytes: 100_000 })).toBe("ok");
    expect(one.messages[0]?.extras).toMatchObject({ attachments: [{ id: FILE }] });
    expect(one.messages[1]?.toolResults).toMatchObject([{ attachments: [{ id: OTHER }, { id: FILE }] }]);
    expect(one.last.changedFiles.get(OTHER)).toMatchObject({ position: 2, dueAt: null });
    expect(one.last.changedFiles.get(FILE)).toMatchObject({ position: 1, dueAt: null });
    one.files = [file(FILE)];
    const again = { turns, messageId: ID, maxMessageBytes: 100_000 };
    expect(one.run("append", again)).toBe("attachment_not_found");
  });

  it("rejects a file that the session does not have, that has expired, or that is of another App", () => {
    const append = (one: DecidedSession) =>
      one.run("append", {
        turns: [{ user: "", attachments: [FILE], steps: [] }],
        messageId: ID,
        maxMessageBytes: 100_000,
      });
    const one = new DecidedSession();
    expect(append(one)).toBe("attachment_not_found");
    one.files = [{ ...file(FILE), dueAt: one.at }];
    expect(append(one)).toBe("attachment_not_found");
    one.run("interrupt", { streamed: null });
    one.session = { ...one.session, app: "shop" };
    one.files = [file(FILE)];
    expect(append(one)).toBe("attachment_of_other_app");
    expect(one.messages).toEqual([]);
  });

  it("changes nothing while a turn is open, or if the messages would be too large", () => {
    const one = new DecidedSession();
    expect(append(one, 100)).toBe("session_full");
    expect(one.messages).toEqual([]);
    one.start("hello");
    expect(append(one)).toBe("session_busy");
    expect(one.messages).toHaveLength(2);
  });
});

describe("the note of a turn", () => {
  it("stays when the turn ends, and the other options do not", () => {
    const one = new DecidedSession();
    const note = { openai: { store: false } };
    one.start("hello", { options: { instructions: "Be brief", note } });
    expect(one.turns[0]?.options).toEqual({ instructions: "Be brief", note });
    one.run("interrupt", { streamed: null });
    expect(one.turns[0]?.options).toEqual({ note });
  });
});

describe("a chat without a title", () => {
  it("asks for none", () => {
    const one = new DecidedSession();
    expect(one.chat("hello", { isTitled: false })).toMatchObject({ wantsTitle: false });
    expect(new DecidedSession().chat("hello")).toMatchObject({ wantsTitle: true });
  });
});
