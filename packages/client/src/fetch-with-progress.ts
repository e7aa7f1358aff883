// Requests that report how much of their body was sent, which `fetch` cannot do.

import { throwIfAborted } from "./linked-abort.ts";

export interface UploadProgress {
  /** Bytes sent. Starts at 0 again when the request is repeated. */
  readonly sent: number;
  /** Size of the file in bytes. */
  readonly total: number;
}

export interface UploadInit extends RequestInit {
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/**
 * Like the global `fetch`, but calls `onProgress` of `init` while the body is sent, in runtimes with
 * `XMLHttpRequest`. Call it in a `fetch` of your own to keep the progress of uploads.
 */
export async function fetchWithProgress(
  input: Parameters<typeof fetch>[0],
  init: UploadInit = {},
): Promise<Response> {
  const { XMLHttpRequest } = globalThis as object as Page;
  const { onProgress, signal } = init;
  if (onProgress === undefined || XMLHttpRequest === undefined || input instanceof Request)
    return await fetch(input, init);
  throwIfAborted(signal ?? undefined);
  const request = new XMLHttpRequest();
  const abort = (): void => request.abort();
  signal?.addEventListener("abort", abort);
  try {
    return await send(request, String(input), init, onProgress);
  } finally {
    signal?.removeEventListener("abort", abort);
  }
}

const HEADERS_RECEIVED = 2;

async function send(
  request: PageRequest,
  url: string,
  { method = "GET", headers, credentials, body }: UploadInit,
  onProgress: (progress: UploadProgress) => void,
): Promise<Response> {
  request.open(method, url);
  request.withCredentials = credentials === "include";
  new Headers(headers).forEach((value, name) => request.setRequestHeader(name, value));
  const report = ({ loaded, total }: Progress): void => {
    // The sent fraction of an empty file is undefined.
    if (total > 0) onProgress({ sent: loaded, total });
  };
  for (const type of ["loadstart", "progress", "load"]) request.upload.addEventListener(type, report);
  let [status, lines] = [0, ""];
  request.addEventListener("readystatechange", () => {
    if (request.readyState === HEADERS_RECEIVED)
      [status, lines] = [request.status, request.getAllResponseHeaders()];
  });
  const isComplete = await new Promise<boolean>((resolve) => {
    request.addEventListener("load", () => resolve(true));
    for (const type of ["error", "abort"]) request.addEventListener(type, () => resolve(false));
    request.send(body);
  });
  // Like `fetch`, report the status of an error even if its body is incomplete.
  if (!isComplete && status < 400) throw new TypeError("The request failed.");
  return new Response((isComplete && request.responseText) || null, { status, headers: headersOf(lines) });
}

function headersOf(lines: string): Headers {
  const headers = new Headers();
  for (const line of lines.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}

interface Progress {
  readonly loaded: number;
  readonly total: number;
}

interface Target {
  addEventListener(type: string, listener: (event: Progress) => void): void;
}

/** The part of `XMLHttpRequest` used here. */
interface PageRequest extends Target {
  withCredentials: boolean;
  readonly upload: Target;
  readonly readyState: number;
  readonly status: number;
  readonly responseText: string;
  open(method: string, url: string): void;
  setRequestHeader(name: string, value: string): void;
  getAllResponseHeaders(): string;
  send(body: unknown): void;
  abort(): void;
}

interface Page {
  readonly XMLHttpRequest?: new () => PageRequest;
}
