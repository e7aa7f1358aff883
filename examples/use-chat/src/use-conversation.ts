import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { useMemo, useRef, useState } from "react";
import { chatPath, interrupt, loadMessages } from "./service.ts";

export interface Conversation {
  readonly url: string;
  readonly id: string;
  readonly initial: UIMessage[];
}

/** Milliseconds before the page tries again to reach the service. */
const RETRY_MS = 1000;

/** `useChat` on a conversation of the service. */
export function useConversation({ url, id, initial }: Conversation) {
  const transport = useMemo(() => new DefaultChatTransport({ api: chatPath(url) }), [url]);
  const [refused, setRefused] = useState<string | null>(null);
  const answerCall = useRef<(call: { toolName: string; toolCallId: string }) => void>(() => undefined);
  const reconnect = useRef<() => void>(() => undefined);
  const chat = useChat({
    id,
    transport,
    messages: initial,
    resume: true,
    generateId: () => crypto.randomUUID(),
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(state) ||
      lastAssistantMessageIsCompleteWithToolCalls(state),
    onToolCall: ({ toolCall }) => answerCall.current(toolCall),
    // Browsers report a service that is away as a TypeError.
    onError: (error) => void (error instanceof TypeError && setTimeout(reconnect.current, RETRY_MS)),
  });
  const { setMessages, resumeStream, addToolOutput } = chat;
  // A tool that runs in the page, if the App has it in its `clientTools`.
  answerCall.current = ({ toolName: tool, toolCallId }) => {
    if (tool !== "time_zone") return;
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    void addToolOutput({ tool, toolCallId, output: { time_zone: timeZone } });
  };
  reconnect.current = () => {
    // The answer may have ended meanwhile.
    const loaded = loadMessages(url, id).then(setMessages);
    void loaded.then(
      () => resumeStream(),
      () => void setTimeout(reconnect.current, RETRY_MS),
    );
  };
  const stop = (): void => {
    void chat.stop();
    // A disconnect alone leaves the assistant working.
    interrupt(url, id).catch((error: Error) => setRefused(error.message));
  };
  return { chat, stop, refused };
}
