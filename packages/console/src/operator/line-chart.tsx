// The drawn part of a chart, by uPlot on a canvas. Loaded separately, because nothing else needs it.

import { useEffect, useRef, useState, type ReactNode } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useMediaQuery } from "@colloquy/ui/parts";
import { dashOf, type Series } from "./series.ts";
import type { Bucket } from "./time-range.ts";
import { tickText } from "./tick-text.ts";

const HEIGHT = 260;

export interface LineChartProps {
  readonly bucket: Bucket;
  /** Starts of the buckets, milliseconds since 1970. */
  readonly starts: readonly number[];
  readonly series: readonly Series[];
  /** Formats a value briefly, for the axis. */
  readonly axisText: (value: number) => string;
  /** Receives the bucket under the pointer, `null` for none. */
  readonly onPoint: (index: number | null) => void;
}

export function LineChart(props: LineChartProps): ReactNode {
  const { bucket, starts, series, axisText, onPoint } = props;
  const place = useRef<HTMLDivElement>(null);
  const look = useLook();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const plot = new uPlot(
      options({ bucket, starts, series, axisText, onPoint }, element),
      [starts.map((start) => start / 1_000), ...series.map(({ values }) => [...values])],
      element,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
    // Colours are drawn, so a theme change needs a redraw.
  }, [bucket, starts, series, axisText, onPoint, look]);
  return <div ref={place} />;
}

function options(props: LineChartProps, element: HTMLElement): uPlot.Options {
  const { bucket, starts, series, axisText, onPoint } = props;
  const ink = colourOf(element, "--cq-ink-soft");
  const line = colourOf(element, "--cq-line");
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const axis = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _min, max) => [0, niceTop(max)] } },
    ...(bucket === "day" && { tzDate: (time: number) => uPlot.tzDate(new Date(time * 1_000), "Etc/UTC") }),
    series: [
      {},
      ...series.map(({ label }, at): uPlot.Series => {
        const stroke = colourOf(element, `--series-${at + 1}`);
        return {
          label,
          stroke,
          width: 2,
          dash: [...dashOf(at)],
          points: { show: starts.length <= 62, size: 5, fill: stroke },
        };
      }),
    ],
    axes: [
      {
        ...axis,
        values: (_plot, splits, _axis, _space, step) => splits.map((time) => tickText(time, step, bucket)),
      },
      {
        ...axis,
        size: (_plot, values) => 16 + 7 * Math.max(3, ...(values ?? []).map((value) => value.length)),
        values: (_plot, splits) => splits.map(axisText),
      },
    ],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  };
}

/** Resolves a colour: canvases support neither variables nor `light-dark()`. */
function colourOf(element: HTMLElement, variable: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${variable})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** Leaves space above the highest value; an empty chart has a height too. */
function niceTop(max: number | null): number {
  if (max === null || max <= 0) return 1;
  return uPlot.rangeNum(0, max, 0.1, true)[1] ?? max;
}

/** Returns a string that changes with the theme, whether changed here or in the system. */
function useLook(): string {
  const isDark = useMediaQuery("(prefers-color-scheme: dark)");
  const hasContrast = useMediaQuery("(prefers-contrast: more)");
  const [theme, setTheme] = useState(() => document.documentElement.dataset["theme"] ?? "");
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme(document.documentElement.dataset["theme"] ?? ""));
    observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  return `${isDark} ${hasContrast} ${theme}`;
}
