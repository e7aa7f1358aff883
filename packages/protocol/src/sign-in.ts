import { z } from "zod";
import { Timestamp } from "./timestamp.ts";

/** A token that proves wallets. */
export const WalletToken = z.object({
  token: z.string().meta({ description: "Bearer token" }),
  expires_at: Timestamp,
  wallets: z.array(z.string()).meta({ description: "Addresses that it holds, in lower case" }),
});
export type WalletToken = z.infer<typeof WalletToken>;
