import { describe, expect, it } from "vitest";
import { AnySessionId, parseSessionId, SessionId } from "./session-id.ts";

const GOOD = [
  "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
  "12345678-1234-1234-1234-123456789abc",
  "00000000-0000-0000-0000-000000000001",
  "ffffffff-ffff-ffff-ffff-fffffffffffe",
  "8F14E45F-CEEA-467F-A0E6-B6F3C6A7D111",
];

const BAD = [
  "",
  "8f14e45fceea467fa0e6b6f3c6a7d111",
  "{8f14e45f-ceea-467f-a0e6-b6f3c6a7d111}",
  "8f14e45f-ceea-467f-a0e6-b6f3c6a7d11",
  "8f14e45f-ceea-467f-a0e6-b6f3c6a7d1111",
  "8f14e45f-ceea-467f-a0e6b-6f3c6a7d111",
  "8f14e45g-ceea-467f-a0e6-b6f3c6a7d111",
  " 8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
  "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111\n",
  "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111, 8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
];

describe("parseSessionId", () => {
  it.each(GOOD)("accepts any 8-4-4-4-12 hexadecimal text of any UUID version: %s", (text) => {
    expect(parseSessionId(text)).toBe(text.toLowerCase());
    expect(SessionId.parse(text)).toBe(text.toLowerCase());
    expect(AnySessionId.parse(text)).toBe(text);
  });

  it.each(BAD)("rejects other text, the nil UUID and the max UUID: %j", (text) => {
    expect(parseSessionId(text)).toBeNull();
    expect(SessionId.safeParse(text).success).toBe(false);
  });
});
