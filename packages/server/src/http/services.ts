// The services behind the routes. The composition root (wiring/) passes them.

import type { CheckedKeys } from "@colloquy/engine/internal/apps/keys/checked-keys";
import type { PublicPage } from "@colloquy/engine/internal/apps/public-page";
import type { SecretService } from "@colloquy/engine/internal/apps/secrets/vault";
import type { CheckedTokens } from "@colloquy/engine/internal/apps/users/user-tokens";
import type { WalletSignIn } from "@colloquy/engine/internal/apps/users/wallet-sign-in";
import type { Feed } from "@colloquy/engine/internal/bus/feed";
import type { AppCatalog } from "@colloquy/engine/internal/core/ports/driven/apps";
import type { ToolSourceReports } from "@colloquy/engine/internal/core/ports/driven/tool";
import type { Actions } from "@colloquy/engine/internal/sessions/actions";
import type { AuditTrail } from "@colloquy/engine/internal/sessions/audit-trail";
import type { Conversations } from "@colloquy/engine/internal/sessions/conversations";
import type { Files } from "@colloquy/engine/internal/sessions/files";
import type { ModelChoices } from "@colloquy/engine/internal/sessions/model-choice";
import type { Search } from "@colloquy/engine/internal/sessions/search";
import type { Threads } from "@colloquy/engine/internal/sessions/threads";
import type { UserData } from "@colloquy/engine/internal/sessions/user-data";
import type { Readiness } from "../admin/readiness.ts";

export interface Services {
  readonly conversations: Conversations;
  readonly threads: Threads;
  readonly search: Search;
  readonly files: Files;
  readonly models: ModelChoices;
  readonly actions: Actions;
  readonly updates: Feed;
  readonly readiness: Readiness;
  readonly secrets: SecretService;
  readonly keys: CheckedKeys;
  readonly users: CheckedTokens;
  readonly wallets: WalletSignIn;
  readonly apps: AppCatalog;
  readonly tools: ToolSourceReports;
  readonly audit: AuditTrail;
  readonly userData: UserData;
  readonly publicPage: PublicPage;
}
