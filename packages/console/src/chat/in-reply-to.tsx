import { useAuiState } from "@assistant-ui/react";
import type { ReactNode } from "react";
import styles from "./message.module.css";

/** Characters of the question that are on the page; the style cuts them to one line. */
const LONGEST = 200;

/** The question of the answer around it, if other messages stand between the two. */
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
