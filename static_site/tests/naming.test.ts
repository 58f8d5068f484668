import { describe, expect, it } from "vitest";
import { minimumWorkers } from "../src/core/federation";
import { cleanName, freeName } from "../src/core/naming";
import { vectors } from "./vectors";

describe("a workspace's name", () => {
  it.each(vectors<{ typed: string; name: string | null }>("names"))("$typed gives $name", ({ typed, name }) => {
    expect(cleanName(typed)).toBe(name);
  });

  it("is counted on when it is taken", () => {
    expect(freeName("a", new Set(["a", "a-2"]))).toBe("a-3");
  });

  it("stays within 63 when it is counted on", () => {
    const long = "x".repeat(63);
    expect(freeName(long, new Set([long]))).toBe(`${"x".repeat(61)}-2`);
  });
});

describe("the minimum of workers", () => {
  it.each(vectors<{ workers: number; minimum: number }>("minimum_workers"))("of $workers is $minimum", ({ workers, minimum }) => {
    expect(minimumWorkers(workers)).toBe(minimum);
  });
});
