// Every answer of a service, and every event of its streams, against the document that it gives of itself.

import { expect } from "vitest";
import { DocumentedApi, type Traffic } from "./documented-api.ts";

const documents = new Map<string, Promise<DocumentedApi | null>>();

/** A proxy answers at this address, with headers and errors of its own: nothing from there is checked. */
export function leaveUnchecked(url: string): void {
  documents.set(url, Promise.resolve(null));
}

/** The document of the service at this address, asked for once; `null` where nothing is checked. */
export function documentOf(url: string): Promise<DocumentedApi | null> {
  let document = documents.get(url);
  if (document === undefined) {
    document = readDocument(url);
    // A service that is not there yet is asked again.
    document.catch(() => documents.delete(url));
    documents.set(url, document);
  }
  return document;
}

/** Asserts that the document tells of everything in this exchange. */
export function expectDocumented(api: DocumentedApi | null, traffic: Traffic): void {
  expect(
    api?.faults(traffic) ?? [],
    `${traffic.method} ${traffic.target.slice(0, 200)} ${traffic.status}: not in the OpenAPI document`,
  ).toEqual([]);
}

/** As `expectDocumented`, of one event of a stream. */
export function expectDocumentedEvent(api: DocumentedApi | null, event: unknown): void {
  expect(api?.eventFaults(event) ?? [], `${JSON.stringify(event)}: not in the OpenAPI document`).toEqual([]);
}

async function readDocument(url: string): Promise<DocumentedApi> {
  // Left open, this connection would carry a request of the test too, and the balancer before three nodes allows one each.
  const answer = await fetch(new URL("/openapi.json", url), { headers: { connection: "close" } });
  if (!answer.ok) throw new Error(`${url} does not show its OpenAPI document: ${answer.status}`);
  return new DocumentedApi(await answer.json());
}
