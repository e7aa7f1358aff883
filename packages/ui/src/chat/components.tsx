import { createContext, use, type ComponentType, type ReactNode } from "react";
import { Markdown } from "../markdown/markdown.tsx";
import { ToolCall, type ToolCallProps } from "./tool-call.tsx";
import { Welcome, type WelcomeProps } from "./welcome.tsx";

/** Parts of a conversation that a page can replace. */
export interface Components {
  /** The text of an answer. */
  readonly Markdown: ComponentType<{ readonly text: string }>;
  /** A tool call with its input, progress, result and action. */
  readonly ToolCall: ComponentType<ToolCallProps>;
  /** Greeting of a conversation without messages. */
  readonly Welcome: ComponentType<WelcomeProps>;
}

const DEFAULTS: Components = { Markdown, ToolCall, Welcome };
const Context = createContext<Components>(DEFAULTS);

export function useComponents(): Components {
  return use(Context);
}

/** Replaces components for the whole subtree. `by` must be the same object on each render. */
export function ReplacedComponents({
  by,
  children,
}: {
  readonly by: Partial<Components> | undefined;
  readonly children: ReactNode;
}): ReactNode {
  const outer = useComponents();
  return by === undefined ? children : <Context value={{ ...outer, ...by }}>{children}</Context>;
}
