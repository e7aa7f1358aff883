// The default theme, with readable names of languages beside code.

import DefaultTheme from "vitepress/theme";
import "./theme.css";

export default DefaultTheme;
