import { NextResponse } from "next/server";
import { fromOwnPage } from "../../lib/handlers.js";

export const POST = fromOwnPage(() => {
  const response = new NextResponse(null, { status: 204 });
  response.cookies.delete("login");
  return response;
});
