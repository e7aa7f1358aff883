import { useEffect, useRef, type RefObject } from "react";

/** What was given at last, for functions that are called later and stay the same. */
export function useLatest<Value>(value: Value): RefObject<Value> {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}
