import { useEffect, useRef, type RefObject } from "react";

/** Returns a ref to the latest value, for stable callbacks. */
export function useLatest<Value>(value: Value): RefObject<Value> {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}
