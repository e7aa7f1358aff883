import { click, group, messages, useChatPage, within } from "./chat-page.tsx";
import { Chat } from "./chat-parts.tsx";
import { describe, expect, it } from "vitest";

const ID = "6f2a9d1e-3b47-4c58-9a60-d2e5f7081b3c";

const page = useChatPage();
const { errors, isLive, say, until } = page;

describe("a tool call", () => {
  it("shows input, progress and result", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Walk home");
    (await page.model.next()).say("I go.").callTool("walk", { to: "home" }).finish("tool-calls");
    await until(() => within("walk", "i") === '{"steps":7}');
    const call = group("walk");
    expect(within("walk", "code")).toBe('{"to":"home"}');
    expect(call.dataset).toMatchObject({ status: "running", own: "running", error: "false" });
    expect(call.dataset["took"]).toBeUndefined();
    page.finishWalk();
    await until(() => call.dataset["own"] === "complete");
    expect(call.dataset["took"]).toMatch(/^\d+$/);
    expect(call.dataset).toMatchObject({ status: "complete", error: "false" });
    expect(within("walk", "output")).toBe('"At home"');
    expect(within("walk", "i")).toBe("");
    (await page.model.next()).say(" I am there.").finish();
    await until(() => messages()[1]!.dataset["status"] === "complete");
    const parts = [...messages()[1]!.children].map(
      (part) => part.getAttribute("aria-label") ?? part.textContent,
    );
    expect(parts).toEqual(["I go.", "walk", " I am there."]);
  });

  it("shows no progress after it was stopped", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Walk home");
    (await page.model.next()).callTool("walk", { to: "home" }).finish("tool-calls");
    await until(() => within("walk", "i") === '{"steps":7}');
    click("Stop");
    await until(() => messages()[1]!.dataset["status"] === "incomplete");
    expect(within("walk", "i")).toBe("");
  });

  it("shows a failure as an error", async () => {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Walk");
    (await page.model.next()).callTool("walk", { to: 5 }).finish("tool-calls");
    (await page.model.next()).say("No.").finish();
    await until(() => messages()[1]?.dataset["status"] === "complete");
    expect(group("walk").dataset).toMatchObject({ own: "failed", error: "true" });
    expect(within("walk", "output")).toContain("to");
  });
});

describe("a pending action", () => {
  async function askFor(name: string, input: unknown): Promise<void> {
    page.show(<Chat sessionId={ID} />);
    await isLive();
    await say("Do it");
    (await page.model.next()).callTool(name, input).finish("tool-calls");
    await until(() => (within(name, "b") ?? "") !== "");
    expect(messages()[1]!.dataset["status"]).toBe("requires-action");
  }

  async function outcomeOf(name: string): Promise<string> {
    await until(() => within(name, "output") !== "");
    expect(group(name).querySelector("button")).toBeNull();
    expect(errors).toEqual([]);
    return within(name, "output") ?? "";
  }

  it("can be approved", async () => {
    await askFor("calculator", { expression: "6 * 7" });
    click("Approve");
    expect(await outcomeOf("calculator")).toContain("42");
  });

  it("can be denied", async () => {
    await askFor("calculator", { expression: "6 * 7" });
    click("Deny");
    expect(await outcomeOf("calculator")).not.toContain("42");
    expect(group("calculator").dataset["error"]).toBe("true");
  });

  it("can be answered with a choice", async () => {
    await askFor("ask_user", { question: "Tea or coffee?", choices: ["Tea", "Coffee"] });
    expect(within("ask_user", "em")).toBe("Tea or coffee?");
    click("Coffee");
    expect(await outcomeOf("ask_user")).toContain("Coffee");
  });

  it("can be answered with free text", async () => {
    await askFor("ask_user", { question: "Tea or coffee?", choices: ["Tea", "Coffee"] });
    click("Answer");
    expect(await outcomeOf("ask_user")).toContain("Neither");
  });

  it("is decided by resuming the interrupt if it needs a wallet", async () => {
    const typed_data = {
      types: {
        EIP712Domain: [{ name: "chainId", type: "uint256" }],
        Note: [{ name: "text", type: "string" }],
      },
      primaryType: "Note",
      domain: { chainId: 1 },
      message: { text: "Hello" },
    };
    await askFor("wallet_request_signature", { typed_data });
    expect(within("wallet_request_signature", "b")).toBe("wallet_signature");
    click("Mistake");
    expect(errors.splice(0)).toMatchObject([
      { message: expect.stringContaining("{ decision, result }") as string },
    ]);
    click("Refuse");
    await outcomeOf("wallet_request_signature");
    expect(group("wallet_request_signature").dataset["error"]).toBe("true");
  });

  it("is denied by resuming the interrupt if it is a call of a client tool", async () => {
    await askFor("read_page", {});
    expect(within("read_page", "b")).toBe("client_tool");
    click("Refuse");
    await outcomeOf("read_page");
    expect(group("read_page").dataset["error"]).toBe("true");
  });

  it("reports a decision by another client", async () => {
    await askFor("calculator", { expression: "6 * 7" });
    const [action] = (await page.direct.getState(ID)).pending_actions;
    page.proxy.plan = ({ path }) =>
      path.startsWith("/api/actions/")
        ? { status: 409, body: '{"code":"action_decided","detail":"No."}' }
        : null;
    click("Approve");
    await until(() => errors.length === 1);
    expect(errors[0]!.text).toBeNull();
    page.proxy.plan = () => null;
    await page.direct.decideAction(ID, action!.id, { decision: "deny" });
    await until(() => group("calculator").dataset["error"] === "true");
    expect(group("calculator").querySelector("button")).toBeNull();
  });
});
