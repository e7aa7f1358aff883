import type { Message, Snapshot } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { type Piece, Transcript } from "./transcript.ts";

const AT = "2026-01-01T00:00:00.000Z";

function agent(content: string, more: Partial<Message> = {}): Message {
  return { id: "a1", sender: "agent", content, created_at: AT, status: "streaming", ...more };
}

function user(id: string, content: string): Message {
  return { id, sender: "user", content, created_at: AT, status: "complete" };
}

function snapshot(messages: readonly Message[], more: Partial<Snapshot> = {}): Snapshot {
  return {
    session_id: "s",
    title: "New conversation",
    app: "default",
    model: "demo/assistant",
    status: "idle",
    is_processing: false,
    messages: [...messages],
    system_events: [],
    pending_actions: [],
    user_state: {},
    last_event_id: "e-1",
    ...more,
  };
}

/** Renders pieces as text; lines begin with their tone. */
function shown(pieces: readonly Piece[]): string {
  return pieces
    .map((piece) => (piece.kind === "text" ? piece.text : `[${piece.tone}] ${piece.text}\n`))
    .join("");
}

describe("a streaming answer", () => {
  it("is shown once, however it is split into updates", () => {
    const text = "One 👍🏽 two\r\nthree é.";
    for (let step = 1; step < 6; step += 1) {
      const transcript = new Transcript();
      let told = "";
      for (let length = 0; length < text.length; length += step)
        told += shown(transcript.showSnapshot(snapshot([agent(text.slice(0, length))])));
      told += shown(transcript.showSnapshot(snapshot([agent(text, { status: "complete" })])));
      expect(told).toBe("One 👍🏽 two\nthree é.");
    }
  });

  it("is not repeated without new text, when complete, or when a snapshot has less text", () => {
    const transcript = new Transcript();
    expect(shown(transcript.showSnapshot(snapshot([agent("One two")])))).toBe("One two");
    expect(transcript.showSnapshot(snapshot([agent("One two")]))).toEqual([]);
    expect(transcript.showSnapshot(snapshot([agent("One")]))).toEqual([]);
    expect(shown(transcript.showSnapshot(snapshot([agent("One two three", { status: "complete" })])))).toBe(
      " three",
    );
    expect(transcript.showSnapshot(snapshot([agent("Something else", { status: "complete" })]))).toEqual([]);
  });

  it("is marked as restarted if the text differs", () => {
    const transcript = new Transcript();
    transcript.showSnapshot(snapshot([agent("The sum is 12")]));
    expect(shown(transcript.showSnapshot(snapshot([agent("It comes to\u001B")])))).toBe(
      "[quiet] (the answer restarts)\nIt comes to␛",
    );
  });

  it("is followed by its sources when it is over, without control characters", () => {
    const transcript = new Transcript();
    const sources = [
      { id: "1", url: "https://example.com/a", title: "The\u001B page" },
      { id: "2", url: "https://example.com/b" },
    ];
    expect(shown(transcript.showSnapshot(snapshot([agent("One", { sources })])))).toBe("One");
    const over = snapshot([agent("One.", { sources, status: "complete" })]);
    expect(shown(transcript.showSnapshot(over))).toBe(
      ".[quiet] Source: The␛ page https://example.com/a\n[quiet] Source: https://example.com/b\n",
    );
    expect(transcript.showSnapshot(over)).toEqual([]);
  });

  it("is marked as interrupted", () => {
    const transcript = new Transcript();
    expect(shown(transcript.showSnapshot(snapshot([agent("One", { status: "interrupted" })])))).toContain(
      "[quiet] (interrupted)",
    );
  });

  it("escapes a control sequence that is split over two updates", () => {
    const transcript = new Transcript();
    const told =
      shown(transcript.showSnapshot(snapshot([agent("a\u001B")]))) +
      shown(transcript.showSnapshot(snapshot([agent("a\u001B]52;c;eA==\u0007b\u009B2J\u202E")])));
    expect(told).toBe("a␛]52;c;eA==␇b\uFFFD2J\uFFFD");
  });
});

describe("typed messages", () => {
  it("are not repeated, once each; messages of others are shown", () => {
    const transcript = new Transcript();
    transcript.typed(" hello\n");
    expect(transcript.showSnapshot(snapshot([user("u1", "hello")]))).toEqual([]);
    expect(shown(transcript.showSnapshot(snapshot([user("u1", "hello"), user("u2", "hello")])))).toBe(
      "[user] > hello\n",
    );
  });

  it("are shown if they come from others after sending failed", () => {
    const transcript = new Transcript();
    transcript.typed("hello");
    transcript.untyped();
    expect(shown(transcript.showSnapshot(snapshot([user("u1", "hello")])))).toBe("[user] > hello\n");
  });

  it("of others have control characters escaped and a marker on each line", () => {
    const transcript = new Transcript();
    expect(shown(transcript.showSnapshot(snapshot([user("u1", "hello\nyou\u001B")])))).toBe(
      "[user] > hello\n> you␛\n",
    );
  });
});

describe("an answer apart from its question", () => {
  const asked = (turn: number, content: string) => ({ ...user(`u${turn}`, content), turn });
  const answer = (turn: number, content: string, more: Partial<Message> = {}) =>
    agent(content, { id: `a${turn}`, turn, status: "complete", ...more });

  it("begins with one line of the question, once, and one that follows its question does not", () => {
    const transcript = new Transcript();
    const before = [
      asked(1, "One?"),
      answer(1, "First."),
      asked(2, "Two\u001B\n?"),
      asked(3, "x".repeat(99)),
    ];
    transcript.showSnapshot(snapshot(before));
    const growing = answer(2, "Sec", { status: "streaming" });
    expect(shown(transcript.showSnapshot(snapshot([...before, growing])))).toBe(
      "[quiet] In reply to: Two␛ ?\nSec",
    );
    const third = [...before, answer(2, "Second."), answer(3, "Third.")];
    expect(shown(transcript.showSnapshot(snapshot(third)))).toBe(
      `ond.[quiet] In reply to: ${"x".repeat(60)}…\nThird.`,
    );
    expect(shown(new Transcript().replay(before.slice(0, 2)))).toBe("[user] > One?\nFirst.");
  });

  it("finds its question among the earlier messages that are not shown", () => {
    const questions = Array.from({ length: 13 }, (_, index) => asked(index + 1, `Question ${index + 1}`));
    const told = shown(new Transcript().begin(snapshot([...questions, answer(1, "First.")])));
    expect(told).toMatch(/^\[quiet\] \(4 earlier messages\)/);
    expect(told).toMatch(/\[quiet\] In reply to: Question 1\nFirst\.$/);
  });
});

describe("earlier messages", () => {
  const messages = Array.from({ length: 30 }, (_, index) => user(`u${index}`, `${index}`));
  const loaded = (first: number) => snapshot(messages.slice(first), { messages_before: first });
  const numbers = (first: number, end: number) =>
    messages
      .slice(first, end)
      .map(({ content }) => `[user] > ${content}\n`)
      .join("");

  it("are shown on request, ten at a time, and never as new ones", () => {
    const transcript = new Transcript();
    expect(shown(transcript.begin(loaded(15)))).toBe(`[quiet] (20 earlier messages)\n${numbers(20, 30)}`);
    expect(transcript.hasEarlier(loaded(15))).toBe(true);
    const end = "[quiet] (end of the earlier messages)\n";
    expect(shown(transcript.earlier(loaded(15)))).toBe(
      `[quiet] (15 earlier messages)\n${numbers(15, 20)}${end}`,
    );
    expect(transcript.hasEarlier(loaded(15))).toBe(false);
    expect(transcript.showSnapshot(loaded(4))).toEqual([]);
    expect(shown(transcript.earlier(loaded(4)))).toBe(
      `[quiet] (5 earlier messages)\n${numbers(5, 15)}${end}`,
    );
    expect(shown(transcript.earlier(loaded(4)))).toBe(`[quiet] (4 earlier messages)\n${numbers(4, 5)}${end}`);
    expect(shown(transcript.earlier(loaded(0)))).toBe(`${numbers(0, 4)}${end}`);
    expect(transcript.hasEarlier(loaded(0))).toBe(false);
    const more = snapshot([...messages, user("new", "new")]);
    expect(shown(transcript.showSnapshot(more))).toBe("[user] > new\n");
  });

  it("are still known after the first shown message was replaced", () => {
    const transcript = new Transcript();
    transcript.begin(loaded(15));
    const after = snapshot([...messages.slice(15, 20), user("new", "new")], { messages_before: 15 });
    expect(shown(transcript.showSnapshot(after))).toBe("[user] > new\n");
    expect(shown(transcript.earlier(after))).toContain(numbers(15, 20));
  });
});

describe("tools", () => {
  const call = { id: "c1", name: "look_up", arguments: { of: "a\u200Bb" }, status: "complete" } as const;
  const result = { call_id: "c1", name: "look_up", output: { is: 7 }, is_error: false, duration_ms: 12.4 };

  it("show the call with its arguments, progress and result once", () => {
    const transcript = new Transcript();
    const calling = agent("", { tool_calls: [call] });
    expect(shown(transcript.showSnapshot(snapshot([calling])))).toBe('[tool] * look_up {"of":"a\\u200bb"}\n');
    const update = {
      type: "tool_update",
      message_id: "a1",
      call_id: "c1",
      name: "look_up",
      progress: "half\u001B[2J\nway",
    } as const;
    expect(shown(transcript.showUpdate(update as never))).toBe("[tool]   look_up: half␛[2J way\n");
    const answered = agent("", { tool_calls: [call], tool_results: [result] });
    expect(shown(transcript.showSnapshot(snapshot([answered])))).toBe(
      '[tool]   look_up done in 12 ms: {"is":7}\n',
    );
    expect(transcript.showSnapshot(snapshot([answered]))).toEqual([]);
  });

  it("appear where they were called, followed by their results, also in a replay", () => {
    const later = { ...call, id: "c2", name: "walk", arguments: {} };
    const told = [
      "Let me see.",
      '[tool] * look_up {"of":"a\\u200bb"}\n',
      '[tool]   look_up done in 12 ms: {"is":7}\n',
      "\n\nAnd now.",
      "[tool] * walk {}\n",
      "[tool]   walk done in 12 ms: far\n",
    ].join("");
    const steps = [
      agent("Let me"),
      agent("Let me see.", { tool_calls: [{ ...call, text_offset: 11 }] }),
      agent("Let me see.\n\nAnd now.", {
        tool_calls: [
          { ...call, text_offset: 11 },
          { ...later, text_offset: 22 },
        ],
        tool_results: [result],
      }),
    ];
    const [, , last] = steps;
    const over: Message = {
      ...last!,
      status: "complete",
      tool_results: [result, { ...result, call_id: "c2", name: "walk", output: "far" }],
    };
    const atOnce = new Transcript();
    expect(shown(atOnce.showSnapshot(snapshot([over])))).toBe(told);
    const growing = new Transcript();
    const grown = [...steps, over]
      .map((message) => shown(growing.showSnapshot(snapshot([message]))))
      .join("");
    expect(grown).toBe(told);
  });

  it("show failures as warnings and truncate long text", () => {
    const transcript = new Transcript();
    const failed = { ...result, output: "x".repeat(1_000), is_error: true, duration_ms: 3_210 };
    const told = shown(transcript.showSnapshot(snapshot([agent("", { tool_results: [failed] })])));
    expect(told).toMatch(/^\[warning\] {3}look_up failed in 3\.2 s: x{400}…\n$/);
    const halved = { ...failed, output: `${"x".repeat(399)}👍👍` };
    expect(shown(new Transcript().showSnapshot(snapshot([agent("", { tool_results: [halved] })])))).toMatch(
      /x{399}\uFFFD…\n$/,
    );
  });

  it("name the files of their results", () => {
    const attachments = [{ id: "f", media_type: "image/png", bytes: 9, sha256: "", name: "a\u001B.png" }];
    const message = agent("", { tool_results: [{ ...result, attachments }] });
    expect(shown(new Transcript().showSnapshot(snapshot([message])))).toBe(
      '[tool]   look_up done in 12 ms: {"is":7}\n[quiet] File: a␛.png\n',
    );
  });

  it("have control characters in names and results escaped", () => {
    const transcript = new Transcript();
    const name = "a\u001B]0;b\u0007\n\u202Ec";
    const hostile = agent("", {
      tool_calls: [{ ...call, name }],
      tool_results: [{ ...result, name, output: "\u001B]8;;http://x.test\u0007link\u2066" }],
    });
    expect(shown(transcript.showSnapshot(snapshot([hostile])))).toBe(
      '[tool] * a␛]0;b␇ \uFFFDc {"of":"a\\u200bb"}\n[tool]   a␛]0;b␇ \uFFFDc done in 12 ms: ␛]8;;http://x.test␇link\uFFFD\n',
    );
    const update = { type: "tool_update", name, progress: { of: "\u202E" } };
    expect(shown(transcript.showUpdate(update as never))).toBe(
      '[tool]   a␛]0;b␇ \uFFFDc: {"of":"\\u202e"}\n',
    );
  });
});

describe("system events", () => {
  const event = (id: string, type: string, payload: object) =>
    ({ id, type, payload, created_at: AT }) as unknown as Snapshot["system_events"][number];

  it("are shown once: notices, errors and resolved actions", () => {
    const transcript = new Transcript();
    const action = { id: "p1", tool: "transfer\u001B" } as unknown as Snapshot["pending_actions"][number];
    transcript.showSnapshot(snapshot([], { pending_actions: [action] }));
    const told = snapshot([], {
      system_events: [
        event("e1", "notice", { message: "A notice\u001B[2J" }),
        event("e2", "error", { message: "An error" }),
        event("e3", "action_resolved", { id: "p1", status: "approved" }),
        event("e4", "action_resolved", { id: "unknown", status: "expired" }),
        event("e5", "title_changed", { title: "x" }),
      ],
    });
    expect(shown(transcript.showSnapshot(told))).toBe(
      "[warning] A notice␛[2J\n[error] An error\n[quiet] (transfer␛: approved)\n[quiet] (the action: expired)\n",
    );
    expect(transcript.showSnapshot(told)).toEqual([]);
  });

  it("that end the stream are shown when they arrive, and nothing is shown twice", () => {
    const transcript = new Transcript();
    const notice = (code: string, level: string) =>
      ({ type: "system_notice", code, level, message: `About it\u001B` }) as never;
    expect(shown(transcript.showUpdate(notice("session_deleted", "warning")))).toBe("[warning] About it␛\n");
    expect(shown(transcript.showUpdate(notice("app_key_invalid", "error")))).toBe("[error] About it␛\n");
    // The snapshot contains all other notices.
    expect(transcript.showUpdate(notice("wallet_differs", "warning"))).toEqual([]);
  });

  it("are not repeated when a conversation is continued; its last ten messages are shown", () => {
    const messages = Array.from({ length: 13 }, (_, index) => user(`u${index}`, `message ${index}`));
    const events = { system_events: [event("e1", "error", { message: "An old error" })] };
    const transcript = new Transcript();
    const told = shown(transcript.begin(snapshot(messages, events)));
    expect(told).toMatch(/^\[quiet\] \(3 earlier messages\)\n\[user\] > message 3\n/);
    expect(told).not.toContain("old error");
    expect(transcript.showSnapshot(snapshot(messages, events))).toEqual([]);
  });
});
