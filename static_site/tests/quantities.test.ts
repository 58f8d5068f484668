import { describe, expect, it } from "vitest";
import { ago, count, duration, metric, secondsRead, size } from "../src/core/quantities";

describe("quantities", () => {
  it.each([
    [13_620, "3 h 47 min"],
    [3600, "1 h 0 min"],
    [600, "10 min"],
    [725, "12 min 5 s"],
    [7.6, "8 s"],
    [-5, "0 s"],
  ])("%d seconds are %s", (seconds, text) => expect(duration(seconds)).toBe(text));

  it.each([
    ["0", 0, true, "s, no limit"],
    ["0", 0, false, "s"],
    ["10", 10, true, "s"],
    ["600", 600, true, "s = 10 min"],
    ["20 min", 1200, false, "= 1,200 s"],
  ])("%s beside its field", (typed, seconds, free, shown) => expect(secondsRead(typed, seconds, free)).toBe(shown));


  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [94_300_000, "94.3 MB"],
    [999_600, "1.0 MB"],
    [128_000_000_000, "128 GB"],
    [5e18, "5000 PB"],
  ])("%d bytes are %s", (bytes, text) => expect(size(bytes)).toBe(text));

  it.each([
    [1, "1 shard"],
    [0, "0 shards"],
    [12_641, "12,641 shards"],
  ])("%d is counted", (n, text) => expect(count(n, "shard")).toBe(text));

  it.each([
    [1.28412, "1.284"],
    [0, "0.000"],
    [12_641, "12641"],
    [3e-7, "3.00e-7"],
    [2e7, "2.00e+7"],
    [null, "–"],
    [Number.NaN, "–"],
  ])("the metric %d reads %s", (value, text) => expect(metric(value)).toBe(text));

  it.each([
    [30_000, "just now"],
    [300_000, "5 min ago"],
    [3 * 3_600_000, "3 h ago"],
    [50 * 3_600_000, "2 days ago"],
  ])("%d ms ago is %s", (passed, text) => expect(ago(0, passed)).toBe(text));
});
