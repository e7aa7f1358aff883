import type { ReactNode } from "react";

/** Says which account the wallet will use, before it does: a conversation opened by its id may be another address's. */
export function SigningAccount({ address }: { readonly address: string | null }): ReactNode {
  if (address === null)
    return <p>The wallet’s chosen account signs. Check there that it is the one you mean.</p>;
  return (
    <p>
      <code>{address}</code> signs, the account that this page is connected to.
    </p>
  );
}
