import { describe, expect, it } from "vitest";
import { MEDIA_TYPES } from "@colloquy/protocol/media-types";
import { fileName, mediaTypeOf, servedType, TextCheck } from "./media-types.ts";
import { FILES } from "./testing/sample-files.ts";

const typeOf = (bytes: Uint8Array, declared: string | undefined, name = "", allowed = MEDIA_TYPES) =>
  mediaTypeOf(bytes, { declared, name, allowed });
const refused = (bytes: Uint8Array, declared: string | undefined, name = "") =>
  typeOf(bytes, declared, name).catch((error: unknown) => error);

describe("mediaTypeOf", () => {
  it.each([
    ["image/png", FILES.png, "image/png"],
    ["image/jpg", FILES.jpeg, "image/jpeg"],
    ["image/pjpeg", FILES.jpeg, "image/jpeg"],
    ["image/webp", FILES.webp, "image/webp"],
    ["IMAGE/GIF; charset=binary", FILES.gif, "image/gif"],
    ["application/pdf", FILES.pdf, "application/pdf"],
    ["audio/mp3", FILES.mp3, "audio/mpeg"],
    ["audio/x-wav", FILES.wav, "audio/wav"],
    ["audio/ogg", FILES.ogg, "audio/ogg"],
    ["text/plain;charset=UTF-8", FILES.text, "text/plain"],
    ["text/markdown", FILES.text, "text/markdown"],
    ["application/vnd.ms-excel", FILES.text, "text/csv"],
    ["application/json", FILES.text, "application/json"],
  ] as const)("accepts %s", async (declared, bytes, type) => {
    expect(await typeOf(bytes, declared)).toBe(type);
  });

  it("detects an undeclared type from the bytes, or else from the file extension", async () => {
    expect(await typeOf(FILES.png, undefined)).toBe("image/png");
    expect(await typeOf(FILES.jpeg, "application/octet-stream")).toBe("image/jpeg");
    expect(await typeOf(FILES.text, "", "notes.MD")).toBe("text/markdown");
    expect(await typeOf(FILES.text, undefined, "table.csv")).toBe("text/csv");
    expect(await refused(FILES.text, undefined, "page.html")).toMatchObject({ status: 415 });
  });

  it("rejects a declared type that does not match the bytes", async () => {
    expect(await refused(FILES.jpeg, "image/png")).toMatchObject({
      status: 415,
      code: "file_type_differs",
      detail: expect.stringContaining("Content-Type image/jpeg"),
    });
    expect(await refused(FILES.text, "image/png")).toMatchObject({
      status: 415,
      code: "file_type_unsupported",
    });
    expect(await refused(FILES.pdf, "text/plain")).toMatchObject({ status: 415 });
    expect(await refused(FILES.zip, "application/pdf")).toMatchObject({ status: 415 });
  });

  // Texts from public bug reports, named in each row.
  it.each([
    ["xerj#379", "BMW,model,year\nX5,SUV,2024\n", "text/csv"],
    ["xerj#380", "GIF89a is the header format used by the GIF image standard.", "text/plain"],
    ["Repo2Readme#176", "ID3_TAG_SIZE = 10\n", "text/plain"],
    ["Repo2Readme#176, a program", "MZ Consulting style guide\n", "text/markdown"],
    ["Repo2Readme#176, an archive", "BZh compression notes\n", "text/markdown"],
    ["XML", "<?xml version='1.0'?><a/>", "text/plain"],
  ] as const)("detects text that begins like another type: %s", async (_report, text, type) => {
    expect(await typeOf(Buffer.from(text), type)).toBe(type);
    expect(await typeOf(Buffer.from(text), "", `a.${type === "text/csv" ? "csv" : "txt"}`)).toMatch(/^text/);
    expect(await refused(FILES.gif, type)).toMatchObject({ status: 415 });
    expect(await refused(FILES.mp3, type)).toMatchObject({ status: 415 });
  });

  it.each([
    ["SVG", "image/svg+xml", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>")],
    ["HTML", "text/html", Buffer.from("<!doctype html><script>1</script>")],
    ["XML", "application/xml", Buffer.from("<?xml version='1.0'?><a/>")],
    ["a program", "application/octet-stream", Buffer.from("\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0")],
    ["an archive", "application/zip", FILES.zip],
  ])("rejects %s", async (_what, declared, bytes) => {
    expect(await refused(bytes, declared)).toMatchObject({ status: 415 });
  });

  it("advises converting HEIC photos to JPEG, whatever the declared type", async () => {
    for (const declared of ["image/heic", "image/heif", "", "image/jpeg"])
      expect(await refused(FILES.heic, declared)).toMatchObject({
        status: 415,
        detail: expect.stringContaining("Convert the photo to JPEG"),
      });
  });

  it("rejects types that are not allowed", async () => {
    await expect(typeOf(FILES.png, "image/png", "", ["text/plain"] as never)).rejects.toMatchObject({
      status: 415,
    });
  });

  it("serves text types as text/plain", () => {
    expect(servedType("application/json")).toBe("text/plain; charset=utf-8");
    expect(servedType("image/png")).toBe("image/png");
  });
});

describe("TextCheck", () => {
  const check = (...chunks: Uint8Array[]) => {
    const text = new TextCheck();
    for (const chunk of chunks) text.add(chunk);
    text.end();
  };

  it("accepts chunks that split a character", () => {
    const tea = Buffer.from("🫖");
    expect(() => check(tea.subarray(0, 1), tea.subarray(1))).not.toThrow();
  });

  it("rejects truncated UTF-8, other encodings, and NUL", () => {
    expect(() => check(Buffer.from("🫖").subarray(0, 3))).toThrow(/UTF-8/);
    expect(() => check(Buffer.from([0x66, 0xfc, 0x72]))).toThrow(/UTF-8/);
    expect(() => check(Buffer.from("a\0b"))).toThrow(/NUL/);
  });
});

describe("fileName", () => {
  it.each([
    ["bridge.png", "bridge.png"],
    ["../../etc/passwd", "passwd"],
    ["C:\\Users\\me\\photo.png", "photo.png"],
    ["a\u0000b\r\n.png", "ab.png"],
    ["\u202egnp.exe", "gnp.exe"],
    ["  中文 🫖.png ", "中文 🫖.png"],
    ["", "image.png"],
    ["..", "image.png"],
    ["/", "image.png"],
    ["\ud800", "image.png"],
    ["e\u0301.png", "é.png"],
  ])("sanitizes %j to %j", (given, name) => {
    expect(fileName(given, "image/png")).toBe(name);
  });

  it("truncates long names before the extension", () => {
    const name = fileName(`${"🫖".repeat(150)}.jpeg`, "image/jpeg");
    expect(name.length).toBeLessThanOrEqual(200);
    expect(name).toMatch(/🫖\.jpeg$/u);
    expect(name.isWellFormed()).toBe(true);
  });
});
