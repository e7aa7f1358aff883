import { NextResponse } from "next/server";
import { fromOwnPage, refuse } from "../../lib/handlers.js";
import { isPassword, isRefusedDemo, loginFor, WEEK_SECONDS } from "../../lib/login.js";

export const POST = fromOwnPage(async (_request, body) => {
  const { user, password } = body ?? {};
  if (typeof user !== "string" || typeof password !== "string" || !(await isPassword(user, password))) {
    return refuse(401, "login_wrong", "The name or the password is wrong.");
  }
  if (isRefusedDemo(user)) {
    const remedy = "Replace the users in users.json by your own, or lib/login.js by your login.";
    return refuse(403, "demo_user_refused", `${user} is a demo user, whose password is public. ${remedy}`);
  }
  const response = new NextResponse(null, { status: 204 });
  response.cookies.set("login", loginFor(user), {
    httpOnly: true,
    sameSite: "lax",
    secure: process.env.NODE_ENV === "production",
    maxAge: WEEK_SECONDS,
  });
  return response;
});
