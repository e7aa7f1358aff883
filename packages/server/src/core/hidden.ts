/** A value of the configuration that nothing prints: a key, or a text that may hold one. Only `reveal` gives it. */
export class Hidden<Value> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  reveal(): Value {
    return this.#value;
  }

  /** Whatever prints the object prints this; the value is in no property that could be read. */
  toJSON(): string {
    return "[hidden]";
  }
}
