import { useAuiState } from "@assistant-ui/react";
import type { ReactNode } from "react";
import styles from "./message.module.css";

/** Characters of the question to render; CSS cuts it to one line. */
const LONGEST = 200;

/** The question of the surrounding answer, if other messages are between the two. */
export function InReplyTo(): ReactNode {
  const question = useAuiState(({ message }) => message.metadata.custom["inReplyTo"]);
  if (typeof question !== "string") return null;
  const cut = question.length > LONGEST ? `${question.slice(0, LONGEST).toWellFormed()}…` : question;
  return (
    <p className={styles["reply"]}>
      In reply to: <q dir="auto">{cut}</q>
    </p>
  );
}
