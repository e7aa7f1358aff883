// The reference page at /docs: its try-outs and its curl commands, as the page shows them.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { useService } from "../black-box/server.ts";
import { ASKING, type ExampleRequest, exampleRequests } from "../documented-examples.ts";

const run = promisify(execFile);

describe.skipIf(await isWithoutChromium())("the reference page", () => {
  const openPage = useChromium();

  /** Returns the fragment that shows an operation. */
  const address = ({ method, path, tag }: ExampleRequest): string =>
    `#tag/${tag.toLowerCase()}/${method.toUpperCase()}${path}`;

  /** Returns the button to try an operation, once the page shows it. */
  async function shown(page: Page, { method, path }: ExampleRequest): Promise<Locator> {
    const button = page.getByRole("button", { name: `Test Request (${method} ${path})` });
    await button.waitFor();
    return button;
  }

  async function openReference(url: string): Promise<Page> {
    const { page, expectTrouble } = await openPage(url);
    // Scalar checks whether it may compile code, and works without. The service has no icon.
    expectTrouble(/refused eval|favicon\.ico/);
    return page;
  }

  describe("its curl commands", () => {
    const url = useService(ASKING);

    it("succeed whatever the method and the places of the parameters", { timeout: 600_000 }, async () => {
      const page = await openReference(url());
      for (const request of oneOfEachShape(await exampleRequests(url()))) {
        const { operationId, successes } = request;
        await page.goto(`/docs${address(request)}`);
        const example = await (await shown(page, request))
          .locator("xpath=ancestor::*[.//code][1]")
          .locator("code")
          .first()
          .innerText();
        const status = await statusOf(example, operationId === "subscribe" ? 10 : 60);
        expect([operationId, successes.includes(status)]).toEqual([operationId, true]);
      }
    });
  });

  describe("its try-outs", () => {
    const url = useService(ASKING);

    it("succeed whatever the method and the places of the parameters", { timeout: 600_000 }, async () => {
      const page = await openReference(url());
      for (const request of oneOfEachShape(await exampleRequests(url()))) {
        const { operationId, method, path, successes } = request;
        // A different query loads the page again: a dialog that was open leaves its page slow.
        await page.goto(`/docs?${operationId}${address(request)}`);
        const button = await shown(page, request);
        await button.click();
        const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/?]+")}$`);
        const answered = page.waitForResponse(
          (response) =>
            response.request().method() === method.toUpperCase() &&
            pattern.test(new URL(response.url()).pathname),
        );
        await page.getByRole("dialog").getByRole("button", { name: /^Send/ }).first().click();
        const sent = (await answered).status();
        expect([operationId, successes.includes(sent)]).toEqual([operationId, true]);
      }
    });
  });
});

/**
 * Returns one request of each combination of method, body, query and path parameters. Requests on actions and answers are left out, because
 * each needs another one.
 */
function oneOfEachShape(requests: readonly ExampleRequest[]): readonly ExampleRequest[] {
  const onSessions = requests.filter(
    ({ path }) => !path.startsWith("/api/actions/") && !path.includes("{message_id}"),
  );
  const shapeOf = ({ method, path, target, body }: ExampleRequest): string =>
    [method, path.includes("{"), target.includes("?"), body !== null].join();
  const first = new Map(onSessions.toReversed().map((request) => [shapeOf(request), request]));
  return onSessions.filter((request) => first.get(shapeOf(request)) === request);
}

/** Runs a command of the page in a shell, for at most `seconds`. Returns the status of the response. */
async function statusOf(command: string, seconds: number): Promise<number> {
  const options = "--silent --output /dev/null --write-out '%{http_code}' --max-time ";
  const shell = run("sh", ["-c", command.replace(/^curl/, `curl ${options}${seconds}`)]);
  const { stdout } = await shell.catch((error: { stdout: string }) => error);
  return Number(stdout);
}
