// Messages sent while an answer runs, and which answer belongs to which.

import { describe, expect, it } from "vitest";
import { findViolationsInBothSchemes } from "../../../../test/browser/accessibility.ts";
import { isWithoutChromium } from "../../../../test/browser/chromium.ts";
import { useChromium } from "../../../../test/browser/use-chromium.ts";
import { answers, expectAnswer, expectSeen, openConsole } from "./console-page.ts";
import { useConsoleService } from "./use-console-service.ts";

const ID = "7d0b4b0e-3a53-4d5c-9d3e-0f5c8a3c1e62";
const LONG = `And what about the second harvest,\n${"which comes in summer ".repeat(20)}?`;
const isLeftOut = await isWithoutChromium();

const service = useConsoleService();

describe.skipIf(isLeftOut)("queued messages", () => {
  const openPage = useChromium();

  it.each([
    ["desk", { width: 1280, height: 800 }],
    ["phone", { width: 390, height: 844 }],
  ])(
    "are quoted in one line above answers that are separated from them, on a %s",
    async (_name, viewport) => {
      const { page } = await openPage(service.url, { viewport });
      await service.direct.sendMessage(ID, "What is sencha?");
      const call = await service.model.next();
      call.say("Tea of the first ");
      await openConsole(page, ID);
      await expectAnswer(page, /^Tea of the first/);
      for (const text of [LONG, "And bancha?", "And matcha?"]) await service.direct.sendMessage(ID, text);
      call.say("harvest.").finish();
      for (const text of ["It is coarser.", "Tea of later harvests.", "A powder."])
        (await service.model.next()).say(text).finish();
      await expectAnswer(page, /A powder\./);

      const replies = answers(page).getByText(/^In reply to:/);
      expect(await answers(page).first().innerText()).not.toContain("In reply to");
      await expectSeen(
        answers(page)
          .nth(1)
          .getByText(/^In reply to: And what about the second harvest,\s+which/),
      );
      await expectSeen(answers(page).nth(2).getByText("In reply to: And bancha?"));
      await expectSeen(answers(page).nth(3).getByText("In reply to: And matcha?"));
      const [long, short] = await replies.evaluateAll((elements) =>
        elements.map(({ clientHeight, clientWidth, scrollWidth }) => ({
          clientHeight,
          isCut: scrollWidth > clientWidth,
        })),
      );
      expect([long?.isCut, short?.isCut]).toEqual([true, false]);
      expect(long?.clientHeight).toBe(short?.clientHeight);
      expect(await findViolationsInBothSchemes(page)).toEqual([]);
    },
  );
});
