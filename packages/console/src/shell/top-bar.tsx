import type { ReactNode } from "react";
import styles from "./top-bar.module.css";

/** The bar above the main view: menu button on narrow screens, title, actions. */
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
