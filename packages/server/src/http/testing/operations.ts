// What the document must say of each operation: where its parameters stand ("?" for those that may be absent), whether it has
// a body, and every status that it may answer with.

export const OPERATIONS = [
  {
    operation: "POST /api/sessions",
    parameters: ["header X-Session-Id"],
    body: "optional",
    statuses: [200, 400, 403, 409, 413, 415, 429, 500, 503, 507],
  },
  {
    operation: "GET /api/sessions",
    parameters: ["header X-Session-Id", "query cursor?", "query limit?", "query public_key"],
    body: "none",
    statuses: [200, 400, 403, 429, 500, 503, 507],
  },
  {
    operation: "GET /api/sessions/{id}",
    parameters: ["path id"],
    body: "none",
    statuses: [200, 400, 403, 404, 500, 503],
  },
  {
    operation: "PATCH /api/sessions/{id}",
    parameters: ["path id"],
    body: "required",
    statuses: [200, 400, 403, 404, 413, 415, 500, 503, 507],
  },
  {
    operation: "DELETE /api/sessions/{id}",
    parameters: ["path id"],
    body: "none",
    statuses: [200, 400, 403, 404, 500, 503, 507],
  },
  {
    operation: "GET /api/sessions/{id}/messages",
    parameters: ["path id", "query after?", "query limit?"],
    body: "none",
    statuses: [200, 400, 403, 404, 500, 503],
  },
  {
    operation: "POST /api/chat",
    parameters: [
      "header Idempotency-Key?",
      "header Prefer?",
      "header SERVICE-APP-KEY?",
      "header X-Session-Id",
      "query app?",
      "query client_id?",
      "query message?",
      "query public_key?",
      "query user_state?",
    ],
    body: "optional",
    statuses: [200, 400, 401, 403, 409, 413, 415, 429, 500, 503, 507],
  },
  {
    operation: "GET /api/state",
    parameters: [
      "header If-None-Match?",
      "header Prefer?",
      "header X-Session-Id",
      "query client_id?",
      "query user_state?",
    ],
    body: "none",
    statuses: [200, 304, 400, 403, 429, 500, 503, 507],
  },
  {
    operation: "POST /api/interrupt",
    parameters: ["header X-Session-Id"],
    body: "none",
    statuses: [200, 400, 403, 413, 415, 429, 500, 503, 507],
  },
  {
    operation: "GET /api/updates",
    parameters: [
      "header Accept",
      "header Last-Event-ID?",
      "header X-Session-Id",
      "query include?",
      "query last_event_id?",
    ],
    body: "none",
    statuses: [200, 400, 403, 406, 429, 500, 503, 507],
  },
  {
    operation: "POST /api/control/model",
    parameters: ["header SERVICE-APP-KEY?", "header X-Session-Id", "query app?", "query baml?", "query rig"],
    body: "none",
    statuses: [200, 400, 401, 403, 409, 413, 415, 429, 500, 503, 507],
  },
  {
    operation: "GET /api/control/models",
    parameters: ["header SERVICE-APP-KEY?", "header X-Session-Id?", "query app?"],
    body: "none",
    statuses: [200, 400, 401, 403, 500, 503],
  },
  {
    operation: "GET /api/control/apps",
    parameters: ["header SERVICE-APP-KEY?", "header X-Session-Id"],
    body: "none",
    statuses: [200, 400, 401, 403, 429, 500, 503, 507],
  },
  {
    operation: "GET /healthz",
    parameters: [],
    body: "none",
    statuses: [200, 400, 403, 500],
  },
  {
    operation: "GET /readyz",
    parameters: [],
    body: "none",
    statuses: [200, 400, 403, 500, 503],
  },
  {
    operation: "GET /metrics",
    parameters: [],
    body: "none",
    statuses: [200, 400, 403, 500],
  },
] as const;
