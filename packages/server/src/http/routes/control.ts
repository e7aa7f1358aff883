import { ModelList } from "@colloquy/protocol";
import { z } from "zod";
import { AppDescriptor, SetModelResult } from "../documented.ts";
import { optionalSessionId, requiredSessionId } from "../request.ts";
import { AppName, HEADERS, optional, refusals } from "../operation.ts";
import { DEFAULT_APP } from "../../core/session.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const TAGS = ["Control"];
const RIG_MAX = 200;

const rig = (): z.ZodString =>
  z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(RIG_MAX, `must be at most ${RIG_MAX} characters`);

const SetModelQuery = z.object({
  rig: rig().meta({ description: "Model identifier", examples: ["demo/assistant"] }),
  baml: optional(rig().meta({ description: "Utility model (titles, summaries)" })),
  app: optional(AppName),
});

export function controlRoutes(app: HttpApp, parts: RouteParts): void {
  setModel(app, parts);
  lists(app, parts);
}

function setModel(app: HttpApp, { services, admission, access }: RouteParts): void {
  app.post(
    "/api/control/model",
    {
      schema: {
        operationId: "setModel",
        summary: "Set the model of a session",
        description: "Creates the session when there is none.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.appKey }),
        querystring: SetModelQuery,
        response: { 200: SetModelResult, ...refusals(401, 409, 413, 429, 503, 507) },
      },
      ...access.modelHooks({ changes: true }),
    },
    (request) => {
      const { rig, baml, app: name } = request.query;
      return services.models.setModel(
        {
          sessionId: requiredSessionId(request.raw),
          app: name ?? null,
          keyApp: access.onlyOpened(request),
          authorize: (wanted) => access.authorizeApp(request, wanted),
          rig,
          utilityModel: baml ?? null,
        },
        admission.newSession(request),
      );
    },
  );
}

function lists(app: HttpApp, { services, admission, access }: RouteParts): void {
  const { apps, conversations } = services;
  app.get(
    "/api/control/models",
    {
      schema: {
        operationId: "listModels",
        summary: "List the models of the session's App",
        description:
          "Without a session that belongs to an App: those of the App that `app` names, else of the one that the key opens, else of `default`. " +
          "Creates the session when one is named and there is none.",
        tags: TAGS,
        headers: z.object({ "X-Session-Id": HEADERS.session["X-Session-Id"].optional(), ...HEADERS.appKey }),
        querystring: z.object({ app: optional(AppName) }),
        response: {
          200: ModelList.meta({ description: "Model identifiers", examples: [["demo/assistant"]] }),
          ...refusals(401, 409, 429, 503, 507),
        },
      },
      ...access.modelHooks({ changes: false }),
    },
    async (request, reply) => {
      const models = await services.models.listModels(
        {
          sessionId: optionalSessionId(request.raw),
          app: request.query.app ?? null,
          keyApp: access.onlyOpened(request),
          authorize: (wanted) => access.authorizeSession(request, wanted),
        },
        admission.newSession(request),
      );
      return reply.send([...models]);
    },
  );

  app.get(
    "/api/control/apps",
    {
      schema: {
        operationId: "listApps",
        summary: "List the Apps",
        description: "`default`, and the Apps that the sent key opens.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.appKey }),
        response: {
          200: z.array(AppDescriptor).meta({ description: "The Apps" }),
          ...refusals(401, 429, 503, 507),
        },
      },
      ...access.keyHooks,
    },
    async (request, reply) => {
      await conversations.ensure(requiredSessionId(request.raw), admission.newSession(request));
      return reply.send(
        [DEFAULT_APP, ...access.opened(request)].flatMap((name) => apps.get(name)?.descriptor ?? []),
      );
    },
  );
}
