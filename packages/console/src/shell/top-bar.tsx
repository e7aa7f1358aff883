import type { ReactNode } from "react";
import styles from "./top-bar.module.css";

/** The bar above the middle: what opens the menu on narrow screens, where one is, and what can be done here. */
export function TopBar({
  menu,
  title,
  children,
}: {
  readonly menu: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
}): ReactNode {
  return (
    <header className={styles["bar"]}>
      {menu}
      <h1 className={styles["title"]}>{title}</h1>
      <div className={styles["actions"]}>{children}</div>
    </header>
  );
}
