/** A secret of the configuration. No printer shows it; only `reveal` returns it. */
export class Hidden<Value> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  reveal(): Value {
    return this.#value;
  }

  /** Printed in place of the value, which no property holds. */
  toJSON(): string {
    return "[hidden]";
  }
}
