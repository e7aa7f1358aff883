// Values that break servers.

import type { Random } from "../torture/harness/random.ts";

/** Text of any kind; may contain everything a JavaScript string can. */
export const HOSTILE_TEXT: readonly string[] = [
  "",
  " ",
  "\t\r\n",
  "\0",
  "a\0b",
  "\ud800",
  "\udc00x",
  "\ufeff",
  "\u202e\u2066",
  "e\u0301".repeat(200),
  "\u1e9b\u0323",
  "\u212b\u00c5A\u030a",
  "ﬀ",
  "İıſ",
  "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
  "👩‍👩‍👧‍👦".repeat(50),
  "\u007f\u0080\u009f",
  "null",
  "undefined",
  "NaN",
  "-0",
  "1e999",
  "-1",
  "0x10",
  "9".repeat(400),
  "9007199254740993",
  "true",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "../../../../etc/passwd",
  "..\\..\\windows",
  "file:///etc/passwd",
  "%00",
  "%",
  "%zz",
  "{{7*7}}",
  "${7*7}",
  "' OR 1=1 --",
  '"',
  "\\",
  "<!--#exec cmd=ls-->",
  "a".repeat(40_000),
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "FFFFFFFF-FFFF-4FFF-8FFF-FFFFFFFFFFFE",
  "6f1c3c1e000040008000000000000001",
  "{6f1c3c1e-0000-4000-8000-000000000001}",
  "6f1c3c1e-0000-4000-8000-00000000000g",
  " 6f1c3c1e-0000-4000-8000-000000000001",
  "６f1c3c1e-0000-4000-8000-000000000001",
];

/** JSON texts, valid and invalid. */
export const HOSTILE_JSON: readonly string[] = [
  "",
  " ",
  "{",
  "}",
  "{}",
  "[]",
  "null",
  "true",
  "0",
  '""',
  "{'a':1}",
  '{"a":1,}',
  '{"a":1}{"b":2}',
  '{"a":NaN}',
  '{"a":1e999}',
  '{"a":-1e-999}',
  '{"a":123456789012345678901234567890}',
  '{"a":"\\ud800"}',
  '{"a":"\\udc00\\ud800"}',
  '{"a":"\\u0000"}',
  '{"\\u0000":1}',
  '{"\\ud800":1}',
  '{"a":"\0"}',
  '{"a":"\\x"}',
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"message":{"toString":1}}',
  '{"message":["a"]}',
  '{"message":1}',
  '{"message":null}',
  '{"message":"a","message":"b"}',
  '{"message":"\\ud83d"}',
  '{"title":{}}',
  '{"title":"' + "x".repeat(300) + '"}',
  '{"public_key":" "}',
  '{"public_key":{"$gt":""}}',
  '{"message":"a","response_schema":"x"}',
  '{"message":"a","response_schema":{"type":"object","properties":{"__proto__":{"pattern":"(a+)+$"}}}}',
  '{"message":"a","response_schema":{"type":"object","__proto__":{"type":5},"required":[["a"]]}}',
  `{"message":"a","response_schema":{"type":"object","allOf":[${nested(20)}]}}`,
  '{"user_state":"x"}',
  '{"user_state":[]}',
  `{"user_state":${nested(20)}}`,
  `{"user_state":{"a":"${"x".repeat(9000)}"}}`,
  nested(31),
  nested(33),
  nested(5000),
  "[".repeat(100_000),
  '{"a":'.repeat(20_000),
  "\ufeff{}",
  `{"a":"${"x".repeat(300_000)}"}`,
  `{${Array.from({ length: 5000 }, (_, index) => `"k${index}":${index}`).join()}}`,
];

/** Bytes that are not UTF-8, not text, or in another encoding. */
export function hostileBytes(random: Random): Buffer {
  const kind = random.integer(0, 4);
  if (kind === 0) return Buffer.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]);
  if (kind === 1) return Buffer.from([0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d]);
  if (kind === 2) return Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]);
  if (kind === 3) return Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  return Buffer.from(Array.from({ length: random.integer(1, 200) }, () => random.integer(0, 255)));
}

function nested(depth: number): string {
  return `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
}
