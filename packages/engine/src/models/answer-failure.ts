// Failures of provider responses with a success status.

/** Reason for a failure. */
export type AnswerProblem =
  /** The provider reported an error, as an event or as the response body. */
  | "reported"
  /** A chunk is not JSON, or is too long. */
  | "unreadable"
  /** The response does not come from a model API; for example, it is a web page. */
  | "foreign"
  /** The response has no content. */
  | "empty"
  /** The connection closed before the end of the response. */
  | "cut"
  /** No chunk arrived in time. */
  | "silent";

export class AnswerFailure extends Error {
  readonly problem: AnswerProblem;
  /** The provider's error as JSON or text; empty if there is none. */
  readonly body: string;
  /** URL of the request. */
  readonly address: string;
  /** Body of the request, as JSON. */
  readonly request: string;
  /** Text received before the failure. */
  answered = "";

  constructor(
    problem: AnswerProblem,
    details: {
      readonly body?: string;
      readonly address: string;
      readonly request: string;
      readonly cause?: unknown;
    },
  ) {
    super(`The provider's answer is ${problem}`, { cause: details.cause });
    this.name = "AnswerFailure";
    this.problem = problem;
    this.body = details.body ?? "";
    this.address = details.address;
    this.request = details.request;
  }
}
