// Command lines of torture, fuzz and bench: `--name value`, `--name=value`, and `--name` alone.

/** Options with their defaults. A default of `false` makes a switch. */
export type ArgumentDefaults = Readonly<Record<string, number | string | boolean | null>>;

type Widened<Value> = Value extends number
  ? number
  : Value extends boolean
    ? boolean
    : Value extends null
      ? string | null
      : string;

export type Arguments<Defaults extends ArgumentDefaults> = {
  readonly [Name in keyof Defaults]: Widened<Defaults[Name]>;
};

/**
 * Parses `given` (without the program's name). A numeric default takes numbers, a boolean is a switch, text
 * and `null` take text. Throws an `Error` that lists the options.
 */
export function parseArguments<const Defaults extends ArgumentDefaults>(
  given: readonly string[],
  defaults: Defaults,
): Arguments<Defaults> {
  const values: Record<string, number | string | boolean | null> = { ...defaults };
  const usage = `Options: ${Object.entries(defaults).map(describeOption).join(" ")}`;
  const rest = [...given];
  for (let option = rest.shift(); option !== undefined; option = rest.shift()) {
    const [, name = "", inline] = /^--([^=]+)(?:=(.*))?$/s.exec(option) ?? [];
    const byDefault = defaults[name];
    if (byDefault === undefined) throw new Error(`Unknown option "${option}". ${usage}`);
    values[name] = byDefault === false ? true : readValue(name, byDefault, inline ?? next(rest));
  }
  return values as Arguments<Defaults>;
}

/** Returns the value of an option, unless the next word is an option. */
function next(rest: string[]): string | undefined {
  return rest[0]?.startsWith("--") === true ? undefined : rest.shift();
}

function readValue(name: string, byDefault: number | string | true | null, text?: string): number | string {
  if (text === undefined) throw new Error(`--${name} needs a value`);
  if (typeof byDefault !== "number") return text;
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
    throw new Error(`--${name} needs a number that is not negative, not "${text}"`);
  }
  return value;
}

function describeOption([name, byDefault]: [string, number | string | boolean | null]): string {
  if (byDefault === false) return `[--${name}]`;
  return byDefault === null ? `[--${name} VALUE]` : `[--${name} ${byDefault}]`;
}
