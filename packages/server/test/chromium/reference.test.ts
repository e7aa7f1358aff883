// The reference page at /docs: its try-outs and its curl commands, as the page shows them.

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { useService } from "../black-box/server.ts";
import { ASKING, pathOnAction, type ExampleRequest, exampleRequests } from "../documented-examples.ts";

const run = promisify(execFile);

describe.skipIf(await isWithoutChromium())("the reference page", () => {
  const openPage = useChromium();
  const url = useService(ASKING);

  /** Shows an operation. Returns its example and the button to try it. */
  async function show(page: Page, { operationId, method, path, tag }: ExampleRequest): Promise<Locator> {
    // A different query loads the page again, and the fragment selects the operation.
    await page.goto(`/docs?${operationId}#tag/${tag.toLowerCase()}/${method.toUpperCase()}${path}`);
    const button = page.getByRole("button", { name: `Test Request (${method} ${path})` });
    await button.waitFor();
    return button;
  }

  it("sends the example of every operation that needs no key with success, and its curl command succeeds", {
    timeout: 600_000,
  }, async () => {
    const { page, expectTrouble } = await openPage(url());
    // Scalar checks whether it may compile code, and works without. The service has no icon.
    expectTrouble(/refused eval|favicon\.ico/);
    for (const request of await exampleRequests(url())) {
      const { operationId, method, path, target, body, successes } = request;
      const button = await show(page, request);
      const example = await button
        .locator("xpath=ancestor::*[.//code][1]")
        .locator("code")
        .first()
        .innerText();
      const onAction = await pathOnAction(url(), request);
      const command = onAction === null ? example : example.replace(target, onAction);
      const status = await statusOf(command, operationId === "subscribe" ? 3 : 60);
      expect([operationId, successes.includes(status)]).toEqual([operationId, true]);
      // The command has deleted the session.
      if (operationId === "deleteThread") await fetch(`${url()}/api/state`, { headers: sessionOf(target) });
      // The command has made the copy.
      if (operationId === "forkThread")
        await fetch(`${url()}/api/sessions/${copyIn(body)}`, { method: "DELETE" });
      // The command has decided or claimed the action.
      if (onAction !== null) continue;
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

function sessionOf(target: string): Record<string, string> {
  return { "X-Session-Id": target.split("/")[3] ?? "" };
}

function copyIn(body: string | null): string {
  return (JSON.parse(body ?? "{}") as { session_id: string }).session_id;
}

/** Runs a command of the page in a shell, for at most `seconds`. Returns the status of the response. */
async function statusOf(command: string, seconds: number): Promise<number> {
  const options = "--silent --output /dev/null --write-out '%{http_code}' --max-time ";
  const shell = run("sh", ["-c", command.replace(/^curl/, `curl ${options}${seconds}`)]);
  const { stdout } = await shell.catch((error: { stdout: string }) => error);
  return Number(stdout);
}
