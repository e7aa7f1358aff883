import { spawnSync } from "node:child_process";
import { closeSync, constants, existsSync, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LogOutput } from "./log-output.ts";

const describeLoss = (lines: number): string => `${lines} left out\n`;

describe.skipIf(!existsSync("/dev/full"))("lines for a full disk", () => {
  it("are dropped and counted without a delay", async () => {
    const destination = openSync("/dev/full", "w");
    const output = new LogOutput({ destination, describeLoss });
    for (let i = 0; i < 10; i++) output.write(`${i}\n`);
    await output.drained();
    expect(output.dropped).toBe(10);
    output.write("last\n");
    expect(output.flush(1_000)).toBe(true);
    closeSync(destination);
  });
});

/** A pipe with both ends in the test. */
describe.skipIf(process.platform === "win32")("a reader", () => {
  let directory: string;
  let reading: number;
  let destination: number;
  let output: LogOutput;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "colloquy-log-"));
    const pipe = join(directory, "pipe");
    spawnSync("mkfifo", [pipe]);
    reading = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    destination = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    output = new LogOutput({ destination, describeLoss });
  });
  afterEach(() => {
    closeSync(destination);
    rmSync(directory, { recursive: true });
  });

  /** Returns the content of the pipe. */
  function take(): string {
    const buffer = Buffer.alloc(1024 * 1024);
    let text = "";
    for (;;) {
      try {
        const count = readSync(reading, buffer);
        if (count === 0) return text;
        text += buffer.toString("utf8", 0, count);
      } catch {
        return text;
      }
    }
  }

  /** Reads until every queued line has arrived. */
  async function takeAll(): Promise<string> {
    let text = "";
    const drained = output.drained();
    for (let done = false; !done; ) {
      done = await Promise.race([drained.then(() => true), new Promise(setImmediate).then(() => false)]);
      text += take();
    }
    return text;
  }

  it("gets every line, complete and in order, after a pause", async () => {
    const lines = Array.from({ length: 5000 }, (_, i) => `${i} ${"é".repeat(50)}\n`);
    for (const line of lines) output.write(line);
    expect(await takeAll()).toBe(lines.join(""));
    expect(output.dropped).toBe(0);
    closeSync(reading);
  });

  it("costs bounded memory during a long pause, and gets the number of missing lines", async () => {
    const line = `${"x".repeat(1024 * 1024 - 1)}\n`;
    for (let i = 0; i < 40; i++) output.write(line);
    expect(output.dropped).toBeGreaterThan(20);
    const text = await takeAll();
    output.write("and on\n");
    const more = await takeAll();
    expect((text + more).split(line).length - 1).toBe(40 - output.dropped);
    expect((text + more).split(line).join("")).toBe(`${output.dropped} left out\nand on\n`);
    closeSync(reading);
  });

  it("does not delay the exit if it never reads", () => {
    for (let i = 0; i < 1000; i++) output.write(`${"x".repeat(1000)}\n`);
    const before = performance.now();
    expect(output.flush(100)).toBe(true);
    expect(performance.now() - before).toBeLessThan(5_000);
    closeSync(reading);
  });

  it("gets the rest of the line and the number of missing lines when it resumes", async () => {
    // More than fits into a pipe, so that a part is written when the reader closes.
    const first = `${"a".repeat(100_000)}\n`;
    output.write(first);
    while (take() === "") await new Promise(setImmediate);
    output.write("b\n");
    output.write("c\n");
    closeSync(reading);
    await output.drained();
    expect(output.dropped).toBe(2);
    output.write("d\n");
    await output.drained();
    expect(output.dropped).toBe(3);
    reading = openSync(join(directory, "pipe"), constants.O_RDONLY | constants.O_NONBLOCK);
    output.write("e\n");
    expect(await takeAll()).toMatch(/^a*\n3 left out\ne\n$/);
    output.write("f\n");
    expect(await takeAll()).toBe("f\n");
    closeSync(reading);
  });
});
