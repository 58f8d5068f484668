/** Durations, sizes, times and counts as the pages print them. */

/** `3 h 47 min`, `12 min 5 s`, `8 s`; negative counts as 0. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [h, min, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (h) return `${h} h ${min} min`;
  if (min) return s ? `${min} min ${s} s` : `${min} min`;
  return `${s} s`;
}

/** What stands beside a field of seconds: the unit and how long that is, or the seconds of what was typed in other units. */
export function secondsRead(typed: string, seconds: number, zeroIsNoLimit: boolean): string {
  if (zeroIsNoLimit && seconds === 0) return "s, no limit";
  if (/[a-z]/.test(typed)) return `= ${seconds.toLocaleString("en")} s`;
  return seconds < 60 ? "s" : `s = ${duration(seconds)}`;
}

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"] as const;

/** A size in powers of 1,000, as billed: `94.3 MB`; whole below 1 kB. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit] ?? ""}`;
}

/** A count with a noun: `1 shard`, `3 shards`; the plural is the noun with an s unless given. */
export function count(n: number, noun: string, plural = `${noun}s`): string {
  return `${n.toLocaleString("en")} ${n === 1 ? noun : plural}`;
}

/** A loss or metric in four significant digits; an em dash when there is none. */
export function metric(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return value.toExponential(2);
  return size >= 1000 ? value.toFixed(0) : value.toPrecision(4);
}

/** How long ago, in one word pair: `just now`, `5 min ago`, `3 h ago`, `2 days ago`. */
export function ago(then: number, now: number): string {
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${count(Math.floor(hours / 24), "day")} ago`;
}
