import { describe, expect, it } from "vitest";
import { recordedParts } from "../testing/recorded-run.ts";
import type { ListedSession } from "./session-source.ts";
import { describeSession, sessionTable } from "./session-table.ts";

const HOSTILE = "\u001B]0;owned\u0007\u009B2J\n\u202E";
/** A session from a remote service, which may contain anything. */
const session = {
  session_id: `id${HOSTILE}`,
  handle: `h_${HOSTILE}`,
  title: `title${HOSTILE}`,
  app: `app${HOSTILE}`,
  model: `model${HOSTILE}`,
  public_key: `wallet${HOSTILE}`,
  status: `idle${HOSTILE}`,
  created_at: `at${HOSTILE}`,
  updated_at: `at${HOSTILE}`,
  used_at: `at${HOSTILE}`,
  message_count: 2,
  turn_count: 1,
} as unknown as ListedSession;
const OBEYED = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202A-\u202E]/;

describe("sessions of a malicious service", () => {
  it.each([null, 200, 60, 20])(
    "have control characters escaped and take one line each in a list (%s columns)",
    (columns) => {
      const lines = sessionTable([session], columns);
      expect(lines.join("")).toContain("␛]0;owned␇");
      for (const line of lines) expect(line).not.toMatch(/\n/);
      expect(lines.join("")).not.toMatch(OBEYED);
    },
  );

  it("have control characters escaped in a description", () => {
    const { parts, written } = recordedParts({});
    describeSession(parts, session, []);
    expect(written.output.trimEnd().split("\n")).toHaveLength(10);
    expect(written.output).not.toMatch(OBEYED);
  });
});
