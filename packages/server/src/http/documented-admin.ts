// Response schemas of the admin API for the OpenAPI document.

import {
  AdminApp as App,
  AdminKey as Key,
  AdminLatency as Latency,
  AdminOverview as Overview,
  AdminSession as Session,
  AdminSessionDetail as SessionDetail,
  AdminSessionPage as SessionPage,
  AdminUsage as Usage,
  IssuedAdminKey as IssuedKey,
} from "@colloquy/protocol";

export const AdminOverview = Overview.meta({
  id: "AdminOverview",
  description: "How the service is doing at this moment",
});
export const AdminSession = Session.meta({
  id: "AdminSession",
  description: "A session as an operator sees it",
});
export const AdminSessionPage = SessionPage.meta({
  id: "AdminSessionPage",
  description: "Some of the sessions that were looked for",
});
export const AdminSessionDetail = SessionDetail.meta({
  id: "AdminSessionDetail",
  description: "A session with its turns",
});
export const AdminApp = App.meta({ id: "AdminApp", description: "An App as an operator sees it" });
export const AdminKey = Key.meta({
  id: "AdminKey",
  description: "A key that opens Apps, without its secret",
});
export const IssuedAdminKey = IssuedKey.meta({
  id: "IssuedAdminKey",
  description: "A key that was just made",
});
export const AdminUsage = Usage.meta({ id: "AdminUsage", description: "What was used, by time" });
export const AdminLatency = Latency.meta({ id: "AdminLatency", description: "How long turns took, by time" });
