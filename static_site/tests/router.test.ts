import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backOf, bucketHref, href, nameOf, type Place, readHash, STEPS, withQuery } from "../src/core/router";

const places: readonly Place[] = [
  { page: "start" },
  { page: "jobs" },
  { page: "files" },
  { page: "profile" },
  { page: "job", id: "job-01k" },
  { page: "help", topic: "sharding" },
  ...STEPS.map((step) => ({ page: "wizard", step }) as const),
];

describe("an address", () => {
  it.each(places)("of $page restores its place", (place) => {
    expect(readHash(href(place)).place).toEqual(place);
  });

  it("keeps whatever its query holds", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 })), (query) => {
        expect(Object.fromEntries(readHash(href({ page: "files" }, query)).query)).toEqual(query);
      }),
    );
  });

  it("leaves empty values out", () => {
    expect(href({ page: "jobs" }, { state: "", cursor: null, after: undefined, page: 0 })).toBe("#/jobs?page=0");
  });

  it.each(["#/nowhere", "#/submit/none", "#/submit", "#/jobs/a/b", "#/files/x"])("%s is absent", (hash) => {
    expect(readHash(hash).place).toEqual({ page: "absent" });
  });

  it("takes a name with a slash and a broken escape", () => {
    expect(readHash(href({ page: "job", id: "a/b" })).place).toEqual({ page: "job", id: "a/b" });
    expect(readHash("#/jobs/%E0%A4%A").place).toEqual({ page: "job", id: "%E0%A4%A" });
  });

  it("of nothing to show leads to the start", () => {
    expect([href({ page: "absent" }), readHash("").place.page]).toEqual(["#/", "start"]);
  });

  it("changes one part of its query", () => {
    expect(withQuery(readHash("#/jobs?a=1&b=2"), { b: null, c: "x y" })).toBe("#/jobs?a=1&c=x+y");
  });
});

describe("the way to a bucket", () => {
  it.each(["#/", "#/files?prefix=jobs%2Fa%2F", "#/submit/name?draft=d"])("leads back to %s", (hash) => {
    expect(backOf(readHash(bucketHref(readHash(hash))))).toBe(hash);
  });

  it.each(["//evil.example", "/nowhere/x", "javascript:alert(1)"])("does not lead to %s", (back) => {
    expect(backOf(readHash(href({ page: "profile" }, { back })))).toBe("#/");
  });

  it("need not lead back", () => {
    expect(backOf(readHash("#/profile"))).toBeNull();
  });

  it("says where it leads", () => {
    expect(["#/", "#/files", "#/jobs/x"].map(nameOf)).toEqual(["Submit job", "Files", "the job"]);
  });
});
