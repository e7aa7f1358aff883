import { wholeUnits, type PendingAction } from "@colloquy/client";
import type { ReactNode } from "react";
import { visibleText } from "./approved-text.ts";

type Transaction = Extract<PendingAction, { kind: "wallet_transaction" }>["request"];
type Call = NonNullable<Transaction["call"]>;

/** Shows what a transaction's data does, as decoded by the service; `null` if it is unknown. */
export function CallFacts({ call }: { readonly call: Call | null }): ReactNode {
  if (call === null)
    return (
      <p>
        <strong>Unknown call.</strong> It is not known what the contract does with this data. Send it only if
        you know.
      </p>
    );
  return (
    <section role="group" className="cq-action-card-call" aria-label="The call">
      <p>
        The data reads as <code dir="ltr">{call.function}</code>
      </p>
      <dl className="cq-action-card-facts">
        {call.arguments.map((argument) => (
          <Argument key={argument.name} argument={argument} />
        ))}
      </dl>
      <p>
        <small>This is the meaning by the standard. The contract itself may do something else.</small>
      </p>
    </section>
  );
}

function Argument({
  argument: { name, value, decimals },
}: {
  readonly argument: Call["arguments"][number];
}): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code dir="ltr">{visibleText(value)}</code>
        {decimals !== undefined && (
          <small>
            {decimals === null
              ? " in the token’s smallest unit; the token does not report its decimals"
              : ` in the smallest unit: ${wholeUnits(value, decimals)} by the ${decimals} decimals that the token claims`}
          </small>
        )}
      </dd>
    </>
  );
}
