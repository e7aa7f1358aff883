export * from "./actions.ts";
export * from "./control.ts";
export * from "./problem.ts";
export * from "./session-event.ts";
export * from "./session-id.ts";
export * from "./snapshot.ts";
export * from "./thread.ts";
export * from "./timestamp.ts";
