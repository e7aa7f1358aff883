import { createHash } from "node:crypto";
import { SessionHandle, SessionId, SessionIdOrHandle } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { createHandles } from "../wiring/handle-cipher.ts";
import { idsExcept, sessionIdsIn } from "./session-handles.ts";

const ID = "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6";
const keyOf = (text: string) => createHash("sha256").update(text).digest();
const handles = createHandles(keyOf("one"));
const HANDLE = handles.of(ID);

const percent = (text: string) =>
  text.replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16).padStart(2, "0")}`);

describe("a session handle", () => {
  it("is the same for every spelling of the id, and leads back to it with the same key alone", () => {
    expect(handles.of(ID.toUpperCase())).toBe(HANDLE);
    expect(createHandles(keyOf("one")).idOf(HANDLE)).toBe(ID);
    const other = createHandles(keyOf("two"));
    expect(other.of(ID)).not.toBe(HANDLE);
    expect(other.idOf(HANDLE)).not.toBe(ID);
    expect(handles.idOf(ID)).toBe(ID);
  });

  it("contains nothing of the id, and is none", () => {
    const first = handles.of(ID.replace(/6$/, "7"));
    expect(first.slice(0, 6)).not.toBe(HANDLE.slice(0, 6));
    expect(SessionId.safeParse(HANDLE).success).toBe(false);
    expect(SessionHandle.parse(HANDLE)).toBe(HANDLE);
    expect(SessionIdOrHandle.parse(HANDLE)).toBe(HANDLE);
    expect(SessionIdOrHandle.parse(ID.toUpperCase())).toBe(ID);
  });

  it.each([
    HANDLE.slice(0, -1),
    `${HANDLE.slice(0, -1)}B`,
    `${HANDLE}A`,
    `${HANDLE}=`,
    "h_",
    ID.slice(0, 35),
  ])("has one spelling alone: rejects %s", (text) =>
    expect(SessionIdOrHandle.safeParse(text).success).toBe(false),
  );
});

describe("a masked text", () => {
  it.each([
    ID,
    ID.toUpperCase(),
    ID.replaceAll("-", ""),
    ID.replaceAll("-", "%2D"),
    ID.replaceAll("-", "%252d"),
    ID.replaceAll("-", String.raw`\u002d`),
    percent(ID),
    percent(ID).toUpperCase(),
    encodeURIComponent(percent(ID.toUpperCase())),
    ID.replace("3", "%33"),
  ])("has the handle in place of %s, whatever is around it", (spelling) => {
    for (const [before, after] of [
      ["", ""],
      ["/api/ai-sdk/chat/", "/stream?x=1"],
      ["thread_", "_2"],
      ["Key (id)=(", ") already exists."],
      ["{urn:uuid:", "}"],
      ["zz", "zz"],
    ])
      expect(handles.mask(`${before}${spelling}${after}`)).toBe(`${before}${HANDLE}${after}`);
  });

  it("has each of several ids replaced, also beside other digits", () => {
    const other = ID.replace("3c", "ff");
    expect(handles.mask(`ab${ID}cd ${other},${ID}`)).toBe(`ab${HANDLE}cd ${handles.of(other)},${HANDLE}`);
  });

  it("contains no id that was cut off", () => {
    for (let length = 18; length < ID.length; length += 1) {
      expect(handles.mask(`for ${ID.slice(0, length)}`)).toBe("for h_…");
      if (length > 22) expect(handles.mask(`${ID.slice(-length)}.`)).toBe("h_….");
    }
  });

  it("keeps what is no UUID", () => {
    const text = `${"0a".repeat(32)} 2026-11-26T08:38:39.000Z 0x8ba1f109551bD432803012645Ac136ddd64DBA72 1b560966278e-1 sk-1234`;
    expect(handles.mask(text)).toBe(text);
  });

  it("keeps what the pattern excepts, unless it is quoted inside a text", () => {
    const pattern = idsExcept(/"request_id":"[^"\\]*"/);
    expect(handles.mask(JSON.stringify({ request_id: ID, session: ID }), pattern)).toBe(
      JSON.stringify({ request_id: ID, session: HANDLE }),
    );
    const quoted = JSON.stringify({ msg: JSON.stringify({ request_id: ID }) });
    expect(handles.mask(quoted, pattern)).not.toContain(ID);
  });

  it("takes time in proportion to its length", () => {
    const before = performance.now();
    for (const text of ["a", "-", "a-", "%25", "aaaa-", "%", "\\"])
      handles.mask(text.repeat(1_000_000 / text.length));
    expect(performance.now() - before).toBeLessThan(5_000);
  });
});

it("hides the ids in a JSON value, in any spelling, except those to keep", () => {
  const message = ID.replace("3c", "ff");
  const value = {
    id: message,
    session_id: ID,
    texts: [`see ${ID.toUpperCase()}`, ID.replaceAll("-", ""), percent(ID)],
    count: 2,
    none: null,
  };
  expect(handles.hide(value, new Set([message]))).toEqual({
    id: message,
    session_id: HANDLE,
    texts: [`see ${HANDLE}`, HANDLE, HANDLE],
    count: 2,
    none: null,
  });
});

it("finds the session ids in a text, in any spelling", () => {
  expect(
    sessionIdsIn(`a-${ID.toUpperCase()} /x/${percent(ID)}/y 00000000-0000-0000-0000-000000000000`),
  ).toEqual([ID, ID]);
  expect(sessionIdsIn(ID.slice(0, 35))).toEqual([]);
});
