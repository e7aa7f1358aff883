import { expect, it } from "vitest";
import { decodeBase64, decodeDataUrl, fileLength } from "./sent-files.ts";

it.each(["aGk=", "aGk", "aGk= ", " aG\nk=\n", "a G k ="])("decodes variants of base64: %j", (text) => {
  expect(decodeBase64(text)?.toString()).toBe("hi");
});

it.each(["a!", "=aGk", "aGk===", "aGk=a"])("rejects malformed base64: %j", (text) => {
  expect(decodeBase64(text)).toBeNull();
});

it("rejects a megabyte of white space in linear time", () => {
  const blank = " ".repeat(2 ** 20);
  // An ambiguous pattern would backtrack for 15 minutes.
  expect(decodeBase64(`${blank}!`)).toBeNull();
  expect(decodeBase64(`${blank}= = !`)).toBeNull();
  expect(decodeDataUrl(`data:;base64,${blank}!`)).toBeNull();
});

it("counts only file fields, not texts that begin like a data URL", () => {
  const file = "data:image/png;base64,AAAA";
  const image = { type: "input_image", image_url: file };
  const audio = { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } };
  expect(fileLength([{ content: [image, audio, { type: "image_url", image_url: { url: file } }] }])).toBe(
    2 * file.length + 4,
  );
  expect(fileLength([{ role: "assistant", content: file, arguments: file, output: file, text: file }])).toBe(
    0,
  );
});
