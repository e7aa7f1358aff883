import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../../server/test/manual-clock.ts";
import { fixedTools } from "../testing/fixed-tools.ts";
import { toolTurn } from "../testing/tool-turn.ts";
import { builtInTools } from "./built-in-tools.ts";

const clock = new ManualClock(Date.UTC(2026, 10, 20, 16, 26, 40, 123));
const tools = builtInTools(clock);
const toolset = fixedTools({ default: Object.values(tools) });

async function call(name: string, input: unknown) {
  const signal = new AbortController().signal;
  const opened = await toolset.open(toolTurn(), signal);
  return await opened.call(name, input, { callId: "call-1", timeoutMs: 60_000, signal, clock });
}

describe("the tool current_time", () => {
  it("returns UTC by default", async () => {
    expect(await call("current_time", {})).toEqual({
      output: {
        iso: "2026-11-20T16:26:40+00:00",
        date: "2026-11-20",
        time: "16:26:40",
        weekday: "Friday",
        timezone: "UTC",
        utc_offset: "+00:00",
        unix: 1_795_192_000,
      },
      isError: false,
    });
  });

  it.each([
    ["Asia/Tokyo", "2026-11-21T01:26:40+09:00", "Asia/Tokyo"],
    ["asia/tokyo", "2026-11-21T01:26:40+09:00", "Asia/Tokyo"],
    ["Asia/Kolkata", "2026-11-20T21:56:40+05:30", "Asia/Kolkata"],
    ["America/St_Johns", "2026-11-20T12:56:40-03:30", "America/St_Johns"],
    ["Europe/Berlin", "2026-11-20T17:26:40+01:00", "Europe/Berlin"],
  ])("returns the time in %s", async (timezone, iso, name) => {
    const { output } = await call("current_time", { timezone });
    expect(output).toMatchObject({ iso, timezone: name });
  });

  it("formats midnight as 00, not 24", async () => {
    const midnight = builtInTools(new ManualClock(Date.UTC(2026, 0, 1))).current_time;
    const output = await midnight.execute({}, context());
    expect(output).toMatchObject({ iso: "2026-01-01T00:00:00+00:00" });
  });

  it("explains the format of a time zone when it does not know one", async () => {
    const { output, isError } = await call("current_time", { timezone: "Atlantis" });
    expect(isError).toBe(true);
    expect(output).toBe(
      'Unknown time zone "Atlantis". Use an IANA name such as "Europe/Berlin", "America/New_York", "Asia/Tokyo" or "UTC".',
    );
  });

  it.each([[{ timezone: 5 }], [{ timezone: "" }], [{ zone: "UTC" }], ["UTC"], [null]])(
    "refuses the input %j",
    async (input) => {
      expect((await call("current_time", input)).isError).toBe(true);
    },
  );
});

describe("the tool calculator", () => {
  it("returns the expression and its result", async () => {
    expect(await call("calculator", { expression: "12 * 7" })).toEqual({
      output: { expression: "12 * 7", result: 84 },
      isError: false,
    });
  });

  it("fails with the reason", async () => {
    expect(await call("calculator", { expression: "1/0" })).toMatchObject({
      output: "Division by zero at position 2.",
      isError: true,
    });
  });

  it.each([[{}], [{ expression: 12 }], [{ expression: "1".repeat(1_001) }], [["1"]], ["1+1"]])(
    "refuses the input %j",
    async (input) => {
      expect((await call("calculator", input)).isError).toBe(true);
    },
  );
});

describe("the built-in tools", () => {
  it("validate their input themselves", async () => {
    await expect(tools.calculator.execute({ expression: 5 }, context())).rejects.toThrow(
      "expression as text",
    );
    await expect(tools.current_time.execute({ timezone: 5 }, context())).rejects.toThrow("time zone as text");
  });

  it("have the effect `read`", () => {
    expect(Object.values(tools).map((tool) => tool.effect)).toEqual(["read", "read", "read"]);
  });
});

function context() {
  return {
    callId: "call-1",
    signal: new AbortController().signal,
    effect: "unsafe" as const,
    progress: () => undefined,
    attach: () => undefined,
    turn: toolTurn(),
    secret: () => "",
  };
}
