// Splits thinking tags such as `<think>` from the text of a model's answer. Only tags at the start of an answer are
// parsed: elsewhere the answer may quote them.

/** `detect`: parses an opening tag; `opened`: the prompt contains the opening tag; `off`: parses no tags. */
export type ThinkingTags = "detect" | "opened" | "off";

export interface TaggedPiece {
  readonly type: "text" | "reasoning";
  readonly text: string;
}

const NAMES = "(?:seed:)?think(?:ing)?|thoughts?|reasoning";
const OPENING = new RegExp(`^(?:<\\s*(${NAMES})(?:\\s[^<>]*)?>|\\[(THINK)\\]|◁(think)▷)`, "i");
/** Maximum characters of a tag with its attributes, and of whitespace before it. */
const MAX_TAG = 256;
/** Characters of the longest closing tag: `</seed:thinking>` with all blanks that `closingOf` allows. */
const MAX_CLOSING_TAG = 40;
/** Matches text that may be an incomplete opening tag. */
const MAY_OPEN = new RegExp(
  `^(?:<\\s*(?:[a-z:]{0,13}|(?:${NAMES})(?:\\s[^<>]*)?)|\\[T?H?I?N?K?|◁[a-z]{0,5}|<\\|[a-z<>|]{0,60})$`,
  "i",
);
/** Matches the control tokens around a gpt-oss message, which some servers do not remove. */
const CHANNEL = /^(?:<\|start\|>assistant)?<\|channel\|>(analysis|commentary|final)<\|message\|>/;
const CHANNEL_END = /<\|(?:end|return)\|>/;

/** Splits the streamed text of one answer into reasoning and text. */
export class ThinkingSplitter {
  /** `inside`: before a closing tag; `text`: the rest is text. */
  #state: "start" | "inside" | "text";
  #inside: TaggedPiece["type"] = "reasoning";
  #buffer = "";
  #closing: RegExp;
  /** True after a closing tag. Whitespace after it is not part of the answer. */
  #hasThought = false;

  constructor(tags: ThinkingTags) {
    this.#state = tags === "off" ? "text" : tags === "opened" ? "inside" : "start";
    this.#closing = closingOf("think");
  }

  /** Cancels `opened` if the server reports the reasoning separately. */
  skipOpened(): void {
    if (this.#state === "inside" && !this.#hasThought && this.#buffer === "") this.#state = "start";
  }

  push(text: string): TaggedPiece[] {
    this.#buffer += text;
    const pieces: TaggedPiece[] = [];
    for (;;) {
      const state = this.#state;
      if (state === "text") {
        pieces.push(...this.#take("text", this.#buffer.length));
        return pieces;
      }
      if (state === "start") this.#open();
      else pieces.push(...this.#close());
      if (this.#state === state) return pieces;
    }
  }

  /** Returns the buffered text at the end of the answer. */
  end(): TaggedPiece[] {
    const isBlank = this.#state === "start" && this.#hasThought && this.#buffer.trim() === "";
    const type = this.#state === "inside" ? this.#inside : "text";
    const pieces = isBlank ? [] : this.#take(type, this.#buffer.length);
    this.#buffer = "";
    return pieces;
  }

  /** Consumes an opening tag, or enters the `text` state if none can follow. */
  #open(): void {
    const start = this.#buffer.trimStart();
    const blanks = this.#buffer.length - start.length;
    if (start === "" && blanks <= MAX_TAG) return;
    const [header, channel] = CHANNEL.exec(start) ?? [];
    const [tag, ...names] = OPENING.exec(start) ?? [];
    if (header !== undefined) {
      this.#closing = CHANNEL_END;
      this.#inside = channel === "analysis" ? "reasoning" : "text";
      this.#buffer = start.slice(header.length);
      this.#state = "inside";
    } else if (tag !== undefined && tag.length <= MAX_TAG && blanks <= MAX_TAG) {
      this.#closing = closingOf(names.find((name) => name !== undefined) ?? "think");
      this.#inside = "reasoning";
      this.#buffer = start.slice(tag.length);
      this.#state = "inside";
    } else if (blanks > MAX_TAG || start.length > MAX_TAG || !MAY_OPEN.test(start)) {
      if (this.#hasThought) this.#buffer = start;
      this.#state = "text";
    }
  }

  /** Takes what precedes the closing tag. */
  #close(): TaggedPiece[] {
    const found = this.#closing.exec(this.#buffer);
    if (found !== null) {
      const pieces = this.#take(this.#inside, found.index);
      this.#buffer = this.#buffer.slice(found[0].length);
      this.#hasThought = true;
      this.#state = "start";
      return pieces;
    }
    // Hold back text that may be an incomplete closing tag.
    const begin = Math.max(
      this.#buffer.lastIndexOf("<"),
      this.#buffer.lastIndexOf("["),
      this.#buffer.lastIndexOf("◁"),
    );
    const mayClose = begin >= 0 && this.#buffer.length - begin < MAX_CLOSING_TAG;
    return this.#take(this.#inside, mayClose ? begin : this.#buffer.length);
  }

  #take(type: TaggedPiece["type"], length: number): TaggedPiece[] {
    const text = this.#buffer.slice(0, length);
    this.#buffer = this.#buffer.slice(length);
    return text === "" ? [] : [{ type, text }];
  }
}

function closingOf(name: string): RegExp {
  return new RegExp(`<\\s{0,8}/\\s{0,8}${name}\\s{0,8}>|\\[/${name}\\]|◁/${name}▷`, "i");
}

/** Removes thinking tags and their content from an answer, even if the opening tag is missing. */
export function withoutThinking(text: string): string {
  const splitter = new ThinkingSplitter("detect");
  const answer = [...splitter.push(text), ...splitter.end()]
    .filter(({ type }) => type === "text")
    .map((piece) => piece.text)
    .join("");
  const closing = new RegExp(`^[\\s\\S]*<\\s*/\\s*(?:${NAMES})\\s*>`, "i").exec(answer);
  return closing === null ? answer : answer.slice(closing[0].length);
}
