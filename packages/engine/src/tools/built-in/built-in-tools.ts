import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Tool } from "../../core/ports/driven/tool.ts";
import { isJsonObject } from "../../core/json.ts";
import { evaluateExpression, maximumExpressionLength } from "./expression.ts";

/** Returns the built-in tools. An App that names no tools has the first two (contract section 4). */
export function builtInTools(
  clock: Clock,
): Readonly<Record<"current_time" | "calculator" | "ask_user", Tool>> {
  return { current_time: createCurrentTimeTool(clock), calculator, ask_user: askUser };
}

const maximumQuestionLength = 2_000;
const maximumChoices = 20;
const maximumChoiceLength = 200;

/** Asks the person a question; the answer becomes the result of the call. */
const askUser: Tool = {
  name: "ask_user",
  title: "Question",
  description:
    "Asks the user a question and waits for the answer. Use it when you cannot go on without knowing; otherwise just answer.",
  inputSchema: {
    type: "object",
    properties: {
      question: {
        type: "string",
        description: "The question, as the user is to read it.",
        minLength: 1,
        maxLength: maximumQuestionLength,
      },
      choices: {
        type: "array",
        description: "Answers to choose from; leave it out for a free answer.",
        items: { type: "string", minLength: 1, maxLength: maximumChoiceLength },
        maxItems: maximumChoices,
      },
    },
    required: ["question"],
    additionalProperties: false,
  },
  effect: "read",
  ask(input) {
    const { question, choices } = isJsonObject(input) ? input : {};
    if (typeof question !== "string") return null;
    const offered = Array.isArray(choices) ? choices.filter((choice) => typeof choice === "string") : [];
    return { kind: "question", request: { question, choices: offered } };
  },
  async execute() {
    throw new Error("The user was not asked. Ask the question in your answer instead.");
  },
};

/**
 * Evaluates arithmetic. Returns `{expression, result}`, or fails with a message that names error and
 * position.
 */
const calculator: Tool = {
  name: "calculator",
  title: "Calculator",
  description:
    "Computes an arithmetic expression exactly as written: numbers, + - * / % (remainder) ^ (power), parentheses, " +
    "sqrt abs round floor ceil min max ln log (base 10) sin cos tan (radians), pi and e.",
  inputSchema: {
    type: "object",
    properties: {
      expression: {
        type: "string",
        description: 'The expression, for instance "12 * (7 + 0.5)^2".',
        minLength: 1,
        maxLength: maximumExpressionLength,
      },
    },
    required: ["expression"],
    additionalProperties: false,
  },
  effect: "read",
  async execute(input) {
    const expression = isJsonObject(input) ? input["expression"] : undefined;
    if (typeof expression !== "string") {
      throw new TypeError('Give the expression as text: {"expression": "12 * 7"}.');
    }
    return { expression, result: evaluateExpression(expression) };
  },
};

const secondMs = 1_000;

/**
 * Creates the tool that tells a model the date and time: `{iso, date, time, weekday, timezone, utc_offset,
 * unix}`, with `unix` in seconds. Defaults to UTC, so that the result does not depend on the server's
 * location.
 */
function createCurrentTimeTool(clock: Clock): Tool {
  return {
    name: "current_time",
    title: "Current time",
    description: "Tells the current date, time and weekday in a time zone (UTC when none is given).",
    inputSchema: {
      type: "object",
      properties: {
        timezone: {
          type: "string",
          description: 'IANA name of the time zone, for instance "Europe/Berlin" or "UTC".',
          minLength: 1,
          maxLength: 100,
        },
      },
      additionalProperties: false,
    },
    effect: "read",
    async execute(input) {
      const timezone = isJsonObject(input) ? (input["timezone"] ?? "UTC") : "UTC";
      if (typeof timezone !== "string") {
        throw new TypeError('Give the time zone as text: {"timezone": "Europe/Berlin"}.');
      }
      return timeIn(timezone, clock.now());
    },
  };
}

/** `now` is in milliseconds since the Unix epoch. */
function timeIn(timezone: string, now: number): Record<string, string | number> {
  const format = openTimeZone(timezone);
  const parts = new Map(format.formatToParts(now).map((part) => [part.type, part.value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? "";
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  const time = `${part("hour")}:${part("minute")}:${part("second")}`;
  // `longOffset` formats as "GMT+09:00", and as "GMT" for a zero offset.
  const offset = part("timeZoneName").replace("GMT", "") || "+00:00";
  return {
    iso: `${date}T${time}${offset}`,
    date,
    time,
    weekday: part("weekday"),
    timezone: spellZone(timezone, format.resolvedOptions().timeZone),
    utc_offset: offset,
    unix: Math.floor(now / secondMs),
  };
}

function openTimeZone(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      weekday: "long",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
      timeZoneName: "longOffset",
    });
  } catch {
    throw new RangeError(
      `Unknown time zone "${timeZone}". Use an IANA name such as "Europe/Berlin", "America/New_York", "Asia/Tokyo" or "UTC".`,
    );
  }
}

/** Corrects the letter case, but keeps the name: the runtime resolves Asia/Kolkata to Asia/Calcutta. */
function spellZone(name: string, resolved: string): string {
  return name.toLowerCase() === resolved.toLowerCase() ? resolved : name;
}
