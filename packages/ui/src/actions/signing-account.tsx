import type { ReactNode } from "react";

/** Shows the account that the wallet will use, because a conversation opened by its id may belong to another address. */
export function SigningAccount({ address }: { readonly address: string | null }): ReactNode {
  if (address === null)
    return <p>The account selected in the wallet will sign. Check there that it is the right one.</p>;
  return (
    <p>
      <code>{address}</code> will sign: the account that this page is connected to.
    </p>
  );
}
