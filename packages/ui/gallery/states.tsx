import type { Message as StoredMessage, PendingAction, ToolCall, ToolResult } from "@colloquy/client";
import type { ReactNode } from "react";
import { ActionCard, Markdown, Message, ModelPicker, SignIn, ThreadList } from "../src/index.ts";
import { Button, CopyButton, IconButton, Pencil } from "../src/parts.ts";
import { TEXTS } from "./texts.ts";

export interface State {
  readonly name: string;
  readonly content: ReactNode;
}

const AT = "2026-01-02T03:04:05.000Z";
const LATER = "2099-01-02T03:04:05.000Z";

const said = (content: string, more: Partial<StoredMessage> = {}): StoredMessage => ({
  id: content.slice(0, 20),
  sender: "agent",
  content,
  created_at: AT,
  status: "complete",
  ...more,
});
const call = (
  id: string,
  status: ToolCall["status"],
  input: ToolCall["arguments"] = { city: "Berlin" },
): ToolCall => ({
  id,
  name: "get_weather",
  arguments: input,
  status,
});
const result = (call_id: string, output: ToolResult["output"], is_error = false): ToolResult => ({
  call_id,
  name: "get_weather",
  output,
  is_error,
  duration_ms: 700,
});
type Decision = NonNullable<ToolCall["decision"]>;
const decided = (kind: Decision["kind"], status: Decision["status"], by: Decision["by"]): Decision => ({
  kind,
  status,
  at: AT,
  by,
});
const asked = {
  id: "action",
  call_id: "a",
  tool: "send_mail",
  created_at: AT,
  expires_at: LATER,
} as const;
const APPROVAL: PendingAction = {
  ...asked,
  kind: "approval",
  request: { tool: "send_mail", input: { to: "ann@example.com", text: "Hello\n\u202Eנשלח" } },
};
const nothing = (): void => undefined;
const card = (action: PendingAction): ReactNode => <ActionCard action={action} onDecided={nothing} />;

export const STATES: readonly State[] = [
  {
    name: "Message of a person",
    content: <Message message={said("What is the weather?\nIn Berlin.", { sender: "user" })} />,
  },
  {
    name: "Message of a person, right to left",
    content: <Message message={said("מה מזג האוויר ב-Berlin?", { sender: "user" })} />,
  },
  { name: "Message, thinking", content: <Message message={said("", { status: "streaming" })} /> },
  { name: "Message, streaming", content: <Message message={said("It is **sun", { status: "streaming" })} /> },
  {
    name: "Message at the end of a summary",
    content: (
      <Message
        message={said("It is sunny.", {
          summary: { tokens_before: 12_000, tokens_after: 800, created_at: AT },
        })}
      />
    ),
  },
  { name: "Message, stopped", content: <Message message={said("It is", { status: "interrupted" })} /> },
  {
    name: "Message, failed",
    content: (
      <Message
        message={said("It is", { status: "failed" })}
        failure={{ message: "The model is busy. Try again." }}
      />
    ),
  },
  {
    name: "Message with a notice, a question and sources",
    content: (
      <Message
        message={said("It is sunny.", {
          sources: [{ id: "1", url: "https://example.com/weather", title: "Weather" }],
          data: { degrees: 21 },
        })}
        notices={[{ id: "n", created_at: AT, level: "warning", code: "c", message: "One tool is missing." }]}
        inReplyTo="What is the weather?"
      />
    ),
  },
  {
    name: "Message with a running call",
    content: (
      <Message
        message={said("", { status: "streaming", tool_calls: [call("a", "running")] })}
        progress={[{ progress: 3, total: 7, message: "Asking stations" }]}
      />
    ),
  },
  {
    name: "Message with finished calls",
    content: (
      <Message
        message={said("It is 21 °C in Berlin, and 25 °C in Rome.", {
          tool_calls: [call("a", "complete"), call("b", "complete", { city: "Rome" })],
          tool_results: [result("a", { degrees: 21 }), result("b", "25 °C\nclear")],
        })}
      />
    ),
  },
  {
    name: "Message with a failed call among others",
    content: (
      <Message
        message={said("One station does not answer.", {
          tool_calls: [call("a", "complete"), call("b", "failed", { city: "Rome" })],
          tool_results: [result("a", { degrees: 21 }), result("b", "The server did not answer.", true)],
        })}
      />
    ),
  },
  {
    name: "Message with decided calls, and with titles",
    content: (
      <Message
        message={said("I have sent it, and deleted nothing.", {
          tool_calls: [
            {
              ...call("a", "complete"),
              title: "Send a mail",
              decision: decided("approval", "approved", "user"),
            },
            {
              ...call("b", "failed"),
              title: "מחיקת קובץ",
              decision: decided("approval", "denied", "operator"),
            },
            { ...call("c", "failed"), decision: decided("approval", "expired", null) },
            {
              ...call("d", "complete", { question: "Tea or coffee?", choices: ["Tea", "Coffee"] }),
              name: "ask_user",
              decision: decided("question", "approved", "user"),
            },
          ],
          tool_results: [
            result("a", "sent"),
            result("b", "The user denied this call.", true),
            result("c", "The user did not answer in time, so this call was not made.", true),
            result("d", { answer: "Tea" }),
          ],
        })}
      />
    ),
  },
  {
    name: "Message that asks for an approval",
    content: (
      <Message
        message={said("", { status: "streaming", tool_calls: [call("a", "running")] })}
        actions={[APPROVAL]}
      />
    ),
  },
  {
    name: "Question",
    content: card({
      ...asked,
      kind: "question",
      request: { question: "Tea or coffee?", choices: ["Tea", "Coffee", "שוקו"] },
    }),
  },
  {
    name: "Client tool",
    content: card({
      ...asked,
      kind: "client_tool",
      request: { tool: "set_color", input: {} },
      claim_expires_at: null,
    }),
  },
  {
    name: "Signature",
    content: card({
      ...asked,
      kind: "wallet_signature",
      request: {
        typed_data: { primaryType: "Mail", message: { to: "0x0000000000000000000000000000000000000001" } },
      },
    } as unknown as PendingAction),
  },
  ...Object.entries(TEXTS).map(([name, text]) => ({
    name: `Markdown: ${name}`,
    content: <Markdown text={text} />,
  })),
  { name: "List of conversations, empty", content: <ThreadList current={null} /> },
  {
    name: "Picker of models",
    content: (
      <span className="cq">
        <ModelPicker
          known={{ models: ["fast", "thorough"], isFailed: false, refetch: nothing }}
          model={null}
          onPick={nothing}
        />
      </span>
    ),
  },
  {
    name: "Picker of models, failed",
    content: (
      <span className="cq">
        <ModelPicker known={{ models: [], isFailed: true, refetch: nothing }} model={null} onPick={nothing} />
      </span>
    ),
  },
  {
    name: "Sign in",
    content: <SignIn onSignIn={() => Promise.reject(new Error("The name or the password is wrong."))} />,
  },
  {
    name: "Buttons",
    content: (
      <p className="cq">
        <Button look="primary">Primary</Button> <Button>Plain</Button> <Button look="quiet">Quiet</Button>{" "}
        <Button look="danger">Danger</Button> <Button disabled>Disabled</Button>{" "}
        <IconButton label="Edit">
          <Pencil size={16} />
        </IconButton>
        <CopyButton label="Copy" text="text" />
      </p>
    ),
  },
];
