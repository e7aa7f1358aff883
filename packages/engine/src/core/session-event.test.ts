import type { IncludeGroup, SessionEvent } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { projectEvent, formatEventId, parseEventId } from "./session-event.ts";

const MESSAGE = {
  sender: "agent",
  content: "x",
  id: "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
  created_at: "2026-01-01T00:00:00.000Z",
  status: "streaming",
} as const;
const CALL = { call_id: "c", name: "n", arguments: { secret: 1 } } as const;

const EVENTS: { readonly [Type in SessionEvent["type"]]: Extract<SessionEvent, { type: Type }> } = {
  title_changed: { type: "title_changed", new_title: "t" },
  tool_update: { type: "tool_update", ...CALL, status: "running", progress: 1 },
  tool_complete: {
    type: "tool_complete",
    ...CALL,
    status: "complete",
    result: { output: 1, is_error: false, duration_ms: 1 },
  },
  system_notice: { type: "system_notice", message: "m", level: "info", code: "resync" },
  message_created: { type: "message_created", message: MESSAGE },
  message_updated: { type: "message_updated", message: MESSAGE },
  message_completed: { type: "message_completed", message: MESSAGE },
  messages_removed: { type: "messages_removed", from: MESSAGE.id },
  state_changed: { type: "state_changed", status: "idle", model: "m", app: "default", user_state: null },
  action_claimed: { type: "action_claimed", id: MESSAGE.id, claim_expires_at: null },
  system_event: {
    type: "system_event",
    item: { id: "a-1", type: "notice", created_at: "2026-01-01T00:00:00.000Z", payload: {} },
  },
};

const shown = (...groups: IncludeGroup[]): Record<string, object> => {
  const projected = Object.values(EVENTS).map(
    (event) => [event.type, projectEvent(event, new Set(groups))] as const,
  );
  return Object.fromEntries(
    projected.filter(
      (entry): entry is [(typeof entry)[0], NonNullable<(typeof entry)[1]>] => entry[1] !== null,
    ),
  );
};

describe("the events of a subscriber", () => {
  it("are by default exactly the four specified types with exactly the specified fields", () => {
    expect(shown()).toEqual({
      title_changed: { type: "title_changed", new_title: "t" },
      tool_update: { type: "tool_update" },
      tool_complete: { type: "tool_complete" },
      system_notice: { type: "system_notice", message: "m", level: "info", code: "resync" },
      messages_removed: {
        type: "system_notice",
        message: "Messages were replaced. Fetch the session's state again.",
        level: "info",
        code: "resync",
      },
    });
  });

  it("contain no update for a call that starts, unless tools are included", () => {
    const start = { ...EVENTS.tool_update, progress: null } as const;
    expect(projectEvent(start, new Set())).toBeNull();
    expect(projectEvent(start, new Set(["tools"]))).toEqual(start);
  });

  it("grow with each included group", () => {
    const common = ["messages_removed", "system_notice", "title_changed", "tool_complete", "tool_update"];
    expect(Object.keys(shown("tools")).toSorted()).toEqual(common);
    expect(shown("tools")["tool_update"]).toEqual(EVENTS.tool_update);
    expect(shown("tools")["tool_complete"]).toEqual(EVENTS.tool_complete);
    expect(Object.keys(shown("messages")).toSorted()).toEqual(
      [...common, "message_completed", "message_created", "message_updated"].toSorted(),
    );
    expect(shown("messages")["tool_update"]).toEqual({ type: "tool_update" });
    expect(Object.keys(shown("state")).toSorted()).toEqual(
      [...common, "action_claimed", "state_changed", "system_event"].toSorted(),
    );
  });

  it("are complete if every group is included", () => {
    expect(shown("tools", "messages", "state")).toEqual(EVENTS);
  });

  it("never contain a change of the owner", () => {
    const changed = { type: "owner_changed", owner: "pseudonym" } as const;
    expect(projectEvent(changed, new Set(["tools", "messages", "state"]))).toBeNull();
  });
});

describe("an event id", () => {
  it("round-trips", () => {
    for (const n of [0, 1, 42, 999_999_999_999_999]) {
      expect(parseEventId(formatEventId("k3f9", n))).toEqual({ incarnation: "k3f9", n });
    }
  });

  it.each([
    "",
    "0",
    "-1",
    "k3f9",
    "k3f9-",
    "k3f9-01",
    "k3f9--1",
    "k3f9-1.5",
    "K3F9-1",
    "a-b-1",
    "k3f9-1 ",
    " k-1",
  ])("is null for %j", (text) => expect(parseEventId(text)).toBeNull());

  it("is null if its number exceeds the safe integers, or its incarnation is too long", () => {
    expect(parseEventId("a-9999999999999999")).toBeNull();
    expect(parseEventId(`${"a".repeat(33)}-1`)).toBeNull();
  });
});
