/** Returns true unless only approvers may decide the action. Other kinds than `approval` have no `approvers`. */
export function mayUserDecide(action: {
  readonly kind: string;
  readonly approvers?: "also" | "only" | undefined;
}): boolean {
  return action.approvers !== "only";
}
