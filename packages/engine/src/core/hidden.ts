/** A secret of the configuration. Printing or serializing it does not show the value; only `reveal` returns it. */
export class Hidden<Value> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  reveal(): Value {
    return this.#value;
  }

  /** Text printed instead of the value, which is in no property. */
  toJSON(): string {
    return "[hidden]";
  }
}
