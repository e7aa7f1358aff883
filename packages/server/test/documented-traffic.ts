// Validates every response of a service, and every event of its streams, against the service's own document.

import { expect } from "vitest";
import { DocumentedApi, type Traffic } from "./documented-api.ts";

const documents = new Map<string, Promise<DocumentedApi | null>>();

/** Disables validation for an address, for example of a proxy with its own headers and errors. */
export function leaveUnchecked(url: string): void {
  documents.set(url, Promise.resolve(null));
}

/** Returns the document of the service at this address, fetched once; `null` if validation is disabled. */
export function documentOf(url: string): Promise<DocumentedApi | null> {
  let document = documents.get(url);
  if (document === undefined) {
    document = readDocument(url);
    // Retry later if the service has not started yet.
    document.catch(() => documents.delete(url));
    documents.set(url, document);
  }
  return document;
}

/** Asserts that the document covers this exchange. */
export function expectDocumented(api: DocumentedApi | null, traffic: Traffic): void {
  expect(
    api?.faults(traffic) ?? [],
    `${traffic.method} ${traffic.target.slice(0, 200)} ${traffic.status}: not in the OpenAPI document`,
  ).toEqual([]);
}

/** Like `expectDocumented`, for one event of a stream. */
export function expectDocumentedEvent(api: DocumentedApi | null, event: unknown): void {
  expect(api?.eventFaults(event) ?? [], `${JSON.stringify(event)}: not in the OpenAPI document`).toEqual([]);
}

async function readDocument(url: string): Promise<DocumentedApi> {
  // A keep-alive connection could also carry a request of the test, but the balancer in front of three nodes
  // allows one request per connection.
  const answer = await fetch(new URL("/openapi.json", url), { headers: { connection: "close" } });
  if (!answer.ok) throw new Error(`${url} does not show its OpenAPI document: ${answer.status}`);
  return new DocumentedApi(await answer.json());
}
